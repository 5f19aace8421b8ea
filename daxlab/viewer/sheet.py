"""Contact sheets: each object as a person would like to see it and as the agent does; exemplars of each category."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image, ImageDraw, ImageOps

from daxlab.assets import categories as kinds
from daxlab.assets.catalog import HELDOUT_OBJECTS, TRAIN_OBJECTS, bank
from daxlab.assets.mesh import Bank
from daxlab.errors import unknown
from daxlab.render import render
from daxlab.render.scene import Scene

LARGE = (240, 180)
"""Width and height of the close picture."""
AGENT = (96, 72)
"""Width and height of what the agent sees; drawn twice as large on the sheet."""
EYE_HEIGHT = 0.9
"""Metres."""
DISTANCE = 1.2
"""Metres on the floor from the agent to the object."""
_CAPTION = 16
_GAP = 6


def view_scene(
    name: str,
    distance: float = DISTANCE,
    eye_height: float = EYE_HEIGHT,
    yaw: float = -30.0,
    things: Bank | None = None,
) -> Scene:
    """One thing on the floor amid a room, its front turned ``yaw`` degrees from the eye, which looks at its centre.

    The thing is one of the catalogue, or of the bank that is given.
    """
    things = bank() if things is None else things
    k = _index(name, things)
    centre = np.array([0.0, 0.0, things.half_height[k]])
    eye = np.array([0.0, -distance, eye_height])
    forward = (centre - eye) / np.linalg.norm(centre - eye)
    right = np.array([1.0, 0.0, 0.0])
    c, s = np.cos(np.radians(yaw)), np.sin(np.radians(yaw))
    return Scene(
        eye=jnp.asarray(eye, jnp.float32),
        look=jnp.asarray(np.stack([right, np.cross(right, forward), forward]), jnp.float32),
        mesh=jnp.array([k], jnp.int32),
        position=jnp.asarray(centre[None], jnp.float32),
        rotation=jnp.array([[[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]], jnp.float32),
        room=jnp.array([2.5, 2.5, 2.5], jnp.float32),
        decor=jnp.array(0, jnp.int32),
    )


def _close_scene(name: str, yaw: float) -> Scene:
    """As near as the thing's size allows: 0.6 m for an object, and for furniture not beyond the room's walls."""
    distance = float(np.clip(2.1 * bank().bound[_index(name, bank())], 0.6, 2.2))
    return view_scene(name, distance, 0.92 * distance, yaw)


def contact_sheet(names: Sequence[str] | None = None, columns: int = 4, yaw: float = -30.0) -> Image.Image:
    """A grid with, for each thing, its name, a close picture and the agent's own view twice enlarged."""
    names = TRAIN_OBJECTS + HELDOUT_OBJECTS if names is None else tuple(names)
    width = LARGE[0] + 2 * AGENT[0] + 2 * _GAP
    height = LARGE[1] + _CAPTION + _GAP
    rows = -(-len(names) // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), "white")
    pen = ImageDraw.Draw(sheet)
    for i, name in enumerate(names):
        x, y = i % columns * width, i // columns * height
        pen.text((x + _GAP, y + 2), name, fill="black")
        close = np.asarray(render(_close_scene(name, yaw), width=LARGE[0], height=LARGE[1]))
        seen = np.asarray(render(view_scene(name, yaw=yaw), width=AGENT[0], height=AGENT[1]))
        enlarged = Image.fromarray(seen).resize((2 * AGENT[0], 2 * AGENT[1]), Image.Resampling.NEAREST)
        sheet.paste(Image.fromarray(close), (x, y + _CAPTION))
        sheet.paste(enlarged, (x + LARGE[0] + _GAP, y + _CAPTION))
    return sheet


def save_sheet(path: str | Path, names: Sequence[str] | None = None, columns: int = 4, yaw: float = -30.0) -> None:
    """Write the contact sheet as a picture file."""
    contact_sheet(names, columns, yaw).save(path)


def category_sheet(
    categories: Sequence[str] | None = None,
    columns: int = 8,
    distance: float = 0.6,
    size: tuple[int, int] = (120, 90),
    first: int = 0,
) -> Image.Image:
    """A row for each class: its name, then as many of its exemplars, from seed ``first`` on, a little turned each."""
    categories = tuple(kinds.CATEGORIES if categories is None else categories)
    things = kinds.bank(categories, columns, first)
    views = [
        view_scene(name, distance, 0.92 * distance, yaw=15.0 * (i % columns) - 60.0, things=things)
        for i, name in enumerate(things.names)
    ]
    scenes = jax.tree.map(lambda *a: jnp.stack(a), *views)
    pictures = np.asarray(jax.vmap(lambda s: render(s, *size, bank=things))(scenes))
    width, height = size[0] + 2, size[1] + 2
    margin = 110
    sheet = Image.new("RGB", (margin + columns * width, len(categories) * height), "white")
    pen = ImageDraw.Draw(sheet)
    for i, picture in enumerate(pictures):
        sheet.paste(Image.fromarray(picture), (margin + i % columns * width, i // columns * height))
    for row, name in enumerate(categories):
        pen.text((_GAP, row * height + size[1] // 2 - 5), name, fill="black")
    return sheet


def save_category_sheet(path: str | Path, categories: Sequence[str] | None = None, columns: int = 8) -> None:
    """Write the sheet as a picture file, with 32 levels a channel: the file is half as large."""
    ImageOps.posterize(category_sheet(categories, columns), 5).save(path, optimize=True)


def _index(name: str, things: Bank) -> int:
    if name not in things.names:
        raise unknown("object", name, things.names)
    return things.names.index(name)
