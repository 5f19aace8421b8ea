"""What the world is at one moment, for one room. Add a leading axis (`jax.vmap`) for many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from jax import Array
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Physics:
    """Strengths and sizes. Per-step gains follow velocity ← keep · velocity + strength × gain, ten steps a second."""

    step_seconds: float = 0.1
    """Time that one action lasts."""
    substeps: int = 2
    """Physics steps in one action."""
    passes: int = 4
    """Contact passes in one physics step; the last two settle stacks and squeezes."""
    keep: float = 0.4
    """Share of its velocity that the agent keeps from one step to the next."""
    move_gain: float = 0.12
    """Metres a step that MOVE at strength 1 adds."""
    turn_gain: float = 0.24
    """Radians a step that LOOK_RIGHT at strength 1 adds."""
    tilt_gain: float = 0.14
    """Radians a step that LOOK_DOWN at strength 1 adds."""
    pull_gain: float = 0.08
    """Metres a step that PULL at strength 1 adds."""
    spin_gain: float = 0.25
    """Radians a step that SPIN at strength 1 adds."""
    pitch_low: float = -1.0
    """Furthest look down, radians."""
    pitch_high: float = 0.5
    """Furthest look up, radians."""
    eye_height: float = 0.9
    """Metres from the floor to the camera."""
    agent_radius: float = 0.25
    """Of the agent's upright cylinder, metres."""
    agent_height: float = 1.0
    """Of the agent's upright cylinder, metres."""
    agent_mass: float = 4.0
    """In units of one object's mass."""
    reach: float = 1.8
    """How far, from the eye to an object's surface, the hand grips, metres."""
    near: float = 0.6
    """Nearest that PULL brings a held object's centre to the eye, metres."""
    slack: float = 0.05
    """How far beside an object's proxy the centre ray still counts as hitting it, metres."""
    slip: float = 0.8
    """A held object that stays further than this from where it should be slips out of the hand, metres."""
    hand_speed: float = 8.0
    """Fastest that the hand moves a held object, metres a second."""
    gravity: float = 9.81
    """Metres a second squared."""
    friction: float = 0.6
    """Coulomb coefficient of an object on whatever carries it."""
    righting: float = 0.35
    """Share of its tilt that a free object loses in a step: our objects are bottom-heavy."""


class Props(NamedTuple):
    """What does not move by itself during a phase: body sizes, furniture, walls."""

    radius: Float[Array, " n"]
    half_height: Float[Array, " n"]
    present: Bool[Array, " n"]
    """False for a body that is not in this room: it neither moves nor touches anything."""
    solids: Float[Array, "m 2 3"]
    """Furniture as axis-aligned boxes in the room: low and high corner."""
    room: Float[Array, " 3"]
    """Half width, half depth, full height."""


class World(NamedTuple):
    """Everything that moves."""

    agent: Float[Array, " 2"]
    """Where the agent stands."""
    stride: Float[Array, " 2"]
    """The agent's velocity, metres a second."""
    heading: Float[Array, ""]
    """Radians to the right of the y axis."""
    pitch: Float[Array, ""]
    """Radians above the horizon."""
    turning: Float[Array, " 2"]
    """Heading and pitch rates, radians a step."""
    position: Float[Array, "n 3"]
    """Centre of each body."""
    velocity: Float[Array, "n 3"]
    attitude: Float[Array, "n 4"]
    """Orientation of each body, a unit quaternion."""
    spin: Float[Array, " 3"]
    """Rotation rate of the held body about the view's right, up and forward, radians a step."""
    held: Int[Array, ""]
    """Which body the hand holds; -1 is none."""
    distance: Float[Array, ""]
    """From the eye to where the held body's centre should be."""
    pulling: Float[Array, ""]
    """Rate of that distance, metres a step, positive towards the eye."""
