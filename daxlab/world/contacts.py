"""Contacts between upright cylinders and with axis-aligned boxes.

A contact is a gap and a normal. Both shapes are prisms (a ground plan times a span of heights), so they are apart when
either their plans or their spans are, and the larger of the two gaps says along which normal they would touch.

Velocities are corrected before positions move: along a normal, two bodies may close at most their gap within the
step (a speculative contact), so nothing tunnels. All contacts of a pass are solved at once, each body's
mass shared out among its active contacts, which never adds kinetic energy (Tonge et al. 2012).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

EASE = 0.02
"""Most that overlapping bodies are moved apart in one physics step, metres."""


class Cylinders(NamedTuple):
    """Bodies and, last, the agent; one number per body and axis, so that every operation is elementwise."""

    x: Float[Array, " b"]
    y: Float[Array, " b"]
    z: Float[Array, " b"]
    vx: Float[Array, " b"]
    vy: Float[Array, " b"]
    vz: Float[Array, " b"]
    radius: Float[Array, " b"]
    half: Float[Array, " b"]
    give: Float[Array, " b"]
    """Inverse mass for sideways motion."""
    lift: Float[Array, " b"]
    """Inverse mass for vertical motion: zero for the agent, who does not leave the floor."""


class Contact(NamedTuple):
    """Gap and unit normal between body i (rows) and whatever it may touch (columns)."""

    gap: Float[Array, "b c"]
    nx: Float[Array, "b c"]
    ny: Float[Array, "b c"]
    nz: Float[Array, "b c"]
    touches: Bool[Array, "b c"]
    """False where the two never collide."""


def between(c: Cylinders, touches: Bool[Array, "b b"]) -> Contact:
    """Contacts of every body with every other; the normal points towards the row's body."""
    dx, dy, dz = (a[:, None] - a[None, :] for a in (c.x, c.y, c.z))
    d = jnp.sqrt(dx * dx + dy * dy + 1e-12)
    aside = d - (c.radius[:, None] + c.radius[None, :])
    above = jnp.abs(dz) - (c.half[:, None] + c.half[None, :])
    vertical = above > aside
    # Coincident bodies part along x: the lower index goes to the right.
    n = c.x.shape[0]
    order = jnp.sign(jnp.arange(n)[None, :] - jnp.arange(n)[:, None]).astype(c.x.dtype)
    same = d < 1e-5
    return Contact(
        gap=jnp.maximum(aside, above),
        nx=jnp.where(vertical, 0.0, jnp.where(same, order, dx / d)),
        ny=jnp.where(vertical | same, 0.0, dy / d),
        nz=jnp.where(vertical, jnp.where(dz >= 0, 1.0, -1.0), 0.0),
        touches=touches,
    )


def against(c: Cylinders, solids: Float[Array, "m 2 3"], present: Bool[Array, " b"]) -> Contact:
    """Contacts of every body with every box; the normal points out of the box."""
    low, high = solids[:, 0], solids[:, 1]
    x, y = c.x[:, None], c.y[:, None]
    dx, dy = x - jnp.clip(x, low[:, 0], high[:, 0]), y - jnp.clip(y, low[:, 1], high[:, 1])
    d = jnp.sqrt(dx * dx + dy * dy + 1e-12)
    inside = d < 1e-5
    to_x = jnp.minimum(x - low[:, 0], high[:, 0] - x)
    to_y = jnp.minimum(y - low[:, 1], high[:, 1] - y)
    out_x = jnp.where(x - low[:, 0] < high[:, 0] - x, -1.0, 1.0)
    out_y = jnp.where(y - low[:, 1] < high[:, 1] - y, -1.0, 1.0)
    by_x = to_x < to_y
    aside = jnp.where(inside, -jnp.minimum(to_x, to_y), d) - c.radius[:, None]
    over = (c.z - c.half)[:, None] - high[:, 2]
    under = low[:, 2] - (c.z + c.half)[:, None]
    above = jnp.maximum(over, under)
    vertical = above > aside
    nx = jnp.where(inside, jnp.where(by_x, out_x, 0.0), dx / d)
    ny = jnp.where(inside, jnp.where(by_x, 0.0, out_y), dy / d)
    return Contact(
        gap=jnp.maximum(aside, above),
        nx=jnp.where(vertical, 0.0, nx),
        ny=jnp.where(vertical, 0.0, ny),
        nz=jnp.where(vertical, jnp.where(over >= under, 1.0, -1.0), 0.0),
        touches=jnp.broadcast_to(present[:, None], aside.shape),
    )


def _closing(contact: Contact, speed: Float[Array, "b c"], dt: float) -> Float[Array, "b c"]:
    """By how much the speed along each normal exceeds what the gap allows."""
    excess = -jnp.maximum(contact.gap, 0.0) / dt - speed
    return jnp.where(contact.touches, jnp.maximum(excess, 0.0), 0.0)


def part_bodies(c: Cylinders, contact: Contact, dt: float, yields: Float[Array, "b b"]) -> Cylinders:
    """Correct velocities so that bodies do not run into each other.

    `yields` scales how much the row's body gives way in each contact: 1 as its mass has it, 0 not at all.
    """
    speed = (
        (c.vx[:, None] - c.vx[None, :]) * contact.nx
        + (c.vy[:, None] - c.vy[None, :]) * contact.ny
        + (c.vz[:, None] - c.vz[None, :]) * contact.nz
    )
    closing = _closing(contact, speed, dt)
    shares = jnp.maximum((closing > 0).sum(1), 1).astype(c.x.dtype)
    moves = yields * jnp.where(contact.nz != 0, c.lift[:, None], c.give[:, None])
    split = moves * shares[:, None]
    push = moves * closing / jnp.maximum(split + split.T, 1e-6)
    return c._replace(
        vx=c.vx + (push * contact.nx).sum(1),
        vy=c.vy + (push * contact.ny).sum(1),
        vz=c.vz + (push * contact.nz).sum(1),
    )


def stop_at_boxes(c: Cylinders, contact: Contact, dt: float) -> Cylinders:
    """Correct velocities so that no body runs into furniture."""
    side = contact._replace(touches=contact.touches & (contact.nz == 0))
    speed = c.vx[:, None] * contact.nx + c.vy[:, None] * contact.ny
    closing = _closing(side, speed, dt)
    # Vertical normals all agree, so the tightest bound is exact.
    room = jnp.maximum(contact.gap, 0.0) / dt
    floor = jnp.where(contact.touches & (contact.nz > 0), -room, -jnp.inf).max(1)
    roof = jnp.where(contact.touches & (contact.nz < 0), room, jnp.inf).min(1)
    return c._replace(
        vx=c.vx + _strongest(closing * contact.nx),
        vy=c.vy + _strongest(closing * contact.ny),
        vz=jnp.where(c.lift > 0, jnp.clip(c.vz, floor, roof), c.vz),
    )


def stop_at_walls(c: Cylinders, room: Float[Array, " 3"], dt: float) -> Cylinders:
    """Correct velocities so that no body leaves the room."""
    side_x, side_y = room[0] - c.radius, room[1] - c.radius
    return c._replace(
        vx=jnp.clip(c.vx, (-side_x - c.x) / dt, (side_x - c.x) / dt),
        vy=jnp.clip(c.vy, (-side_y - c.y) / dt, (side_y - c.y) / dt),
        vz=jnp.clip(c.vz, (c.half - c.z) / dt, (room[2] - c.half - c.z) / dt),
    )


def push_out(c: Cylinders, contact: Contact) -> Cylinders:
    """Move bodies out of furniture that they are in all the same (after a squeeze); velocities stay."""
    depth = jnp.where(contact.touches, jnp.maximum(-contact.gap, 0.0), 0.0)
    return c._replace(
        x=c.x + _strongest(depth * contact.nx),
        y=c.y + _strongest(depth * contact.ny),
        z=c.z + jnp.where(c.lift > 0, _strongest(depth * contact.nz), 0.0),
    )


def ease_apart(c: Cylinders, contact: Contact) -> Cylinders:
    """Move overlapping bodies apart sideways, a little at a time; velocities stay, so nothing is flung."""
    depth = jnp.where(contact.touches, jnp.clip(-contact.gap, 0.0, EASE), 0.0)
    share = c.give[:, None] / (c.give[:, None] + c.give[None, :])
    return c._replace(x=c.x + _strongest(share * depth * contact.nx), y=c.y + _strongest(share * depth * contact.ny))


def _strongest(push: Float[Array, "b c"]) -> Float[Array, " b"]:
    """Of pushes along one axis, the strongest each way: pushes from one side do not add up."""
    return jnp.maximum(push.max(1), 0.0) + jnp.minimum(push.min(1), 0.0)


def keep_inside(c: Cylinders, room: Float[Array, " 3"]) -> Cylinders:
    """Hold positions within the room whatever rounding did."""
    return c._replace(
        x=jnp.clip(c.x, -room[0] + c.radius, room[0] - c.radius),
        y=jnp.clip(c.y, -room[1] + c.radius, room[1] - c.radius),
        z=jnp.clip(c.z, c.half, room[2] - c.half),
    )
