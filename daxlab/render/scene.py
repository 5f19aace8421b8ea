"""What a picture is made of. Axes as in `daxlab.assets.mesh`: z up, metres."""

from __future__ import annotations

from typing import NamedTuple

from jax import Array
from jaxtyping import Float, Int


class Scene(NamedTuple):
    """One room to draw (add a leading axis for a batch)."""

    eye: Float[Array, " 3"]
    look: Float[Array, "3 3"]
    """Rows: the camera's right, up and forward, unit vectors in the room's axes."""
    mesh: Int[Array, " n"]
    """Index of each thing's mesh in the bank; -1 draws nothing."""
    position: Float[Array, "n 3"]
    """Centre of each thing."""
    rotation: Float[Array, "n 3 3"]
    """From mesh axes to room axes."""
    room: Float[Array, " 3"]
    """Half width (x), half depth (y) and full height (z): the room is |x|≤room[0], |y|≤room[1], 0≤z≤room[2]."""
    decor: Int[Array, ""]
    """Which colours and textures the floor and walls have: 0, 1, 2, …"""
