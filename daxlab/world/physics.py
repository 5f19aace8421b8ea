"""One step of the world: controls move the agent and its hand, then bodies fall, slide and touch."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from daxlab.world import contacts, rotation
from daxlab.world.contacts import Cylinders
from daxlab.world.control import CONTROLS
from daxlab.world.sight import aimed, eye
from daxlab.world.state import Physics, Props, World

SUPPORT = 0.01
"""A body within this many metres of what is below it is carried by it."""


def step(physics: Physics, props: Props, world: World, control: Float[Array, " 9"]) -> World:
    """The world one action later."""
    control = jnp.clip(control, -1.0, 1.0)
    world = _grip(physics, props, world, control)
    world = _drive(physics, world, control)
    before = world.heading
    world = _turn_head(physics, world, control)
    world = _move_bodies(physics, props, world)
    world = _turn_bodies(physics, world, control, world.heading - before)
    return _slip(physics, world)


def _strength(control: Float[Array, " 9"], name: str) -> Float[Array, ""]:
    return control[CONTROLS.index(name)]


def _grip(physics: Physics, props: Props, world: World, control: Float[Array, " 9"]) -> World:
    """GRAB takes the body under the centre ray, or keeps the one already held; without GRAB the hand opens."""
    closed = _strength(control, "GRAB") > 0.5
    taken = jnp.where(world.held >= 0, world.held, aimed(physics, props, world, physics.reach))
    held = jnp.where(closed, taken, -1)
    fresh = (held >= 0) & (world.held < 0)
    offset = _row(world.position, held) - eye(physics, world)
    pulling = jnp.where(held >= 0, physics.keep * world.pulling + physics.pull_gain * _strength(control, "PULL"), 0.0)
    distance = jnp.where(fresh, jnp.sqrt(jnp.sum(offset**2)), world.distance) - pulling
    return world._replace(
        held=held, pulling=pulling, distance=jnp.clip(distance, physics.near, physics.reach + props.radius.max())
    )


def _drive(physics: Physics, world: World, control: Float[Array, " 9"]) -> World:
    """MOVE pushes the agent along its heading."""
    ahead = jnp.stack([jnp.sin(world.heading), jnp.cos(world.heading)])
    right = jnp.stack([ahead[1], -ahead[0]])
    push = _strength(control, "MOVE_FORWARD") * ahead + _strength(control, "MOVE_RIGHT") * right
    stride = physics.keep * world.stride + push * (physics.move_gain / physics.step_seconds)
    return world._replace(stride=stride)


def _turn_head(physics: Physics, world: World, control: Float[Array, " 9"]) -> World:
    """LOOK turns the head; it stops at the ends of its tilt."""
    gain = jnp.array([physics.turn_gain, -physics.tilt_gain])
    torque = jnp.stack([_strength(control, "LOOK_RIGHT"), _strength(control, "LOOK_DOWN")])
    turning = physics.keep * world.turning + gain * torque
    heading = world.heading + turning[0]
    pitch = jnp.clip(world.pitch + turning[1], physics.pitch_low, physics.pitch_high)
    return world._replace(heading=heading, pitch=pitch, turning=turning.at[1].set(pitch - world.pitch))


def _row(table: Float[Array, "n k"], index: Int[Array, ""]) -> Float[Array, " k"]:
    """One row of a small table without a gather; zeros for index -1."""
    return jnp.where((jnp.arange(table.shape[0]) == index)[:, None], table, 0.0).sum(0)


def _cylinders(physics: Physics, props: Props, world: World) -> Cylinders:
    """The bodies and, last, the agent."""
    n = world.position.shape[0]
    half = physics.agent_height / 2
    return Cylinders(
        x=jnp.append(world.position[:, 0], world.agent[0]),
        y=jnp.append(world.position[:, 1], world.agent[1]),
        z=jnp.append(world.position[:, 2], half),
        vx=jnp.append(world.velocity[:, 0], world.stride[0]),
        vy=jnp.append(world.velocity[:, 1], world.stride[1]),
        vz=jnp.append(world.velocity[:, 2], 0.0),
        radius=jnp.append(props.radius, physics.agent_radius),
        half=jnp.append(props.half_height, half),
        give=jnp.array(np.append(np.ones(n), 1.0 / physics.agent_mass), jnp.float32),
        lift=jnp.array(np.append(np.ones(n), 0.0), jnp.float32),
    )


def _touching(props: Props, held: Bool[Array, " b"]) -> Bool[Array, "b b"]:
    """Which pairs can collide: not a body with itself, not with an absent one, not the agent with what it holds."""
    here = jnp.append(props.present, True)
    n = here.shape[0]
    agent = jnp.arange(n) == n - 1
    carried = (held[:, None] & agent[None, :]) | (agent[:, None] & held[None, :])
    return here[:, None] & here[None, :] & ~np.eye(n, dtype=bool) & ~carried


def _move_bodies(physics: Physics, props: Props, world: World) -> World:
    """Gravity, the hand, friction and contacts, in substeps."""
    dt = physics.step_seconds / physics.substeps
    n = world.position.shape[0]
    bodies = np.arange(n + 1) < n
    held = jnp.arange(n + 1) == world.held
    here = jnp.append(props.present, True)
    touching = _touching(props, held)
    ray = rotation.view(world.heading, world.pitch)[2]
    pushes = (held | ~bodies)[:, None]
    c = _cylinders(physics, props, world)
    for _ in range(physics.substeps):
        c = _accelerate(physics, c, held, here, world.distance * ray, dt)
        pairs = contacts.between(c, touching)
        boxes = contacts.against(c, props.solids, here) if props.solids.shape[0] else None
        c = _rub(physics, props, c, pairs, boxes, jnp.asarray(bodies) & ~held, dt)
        # In the last passes what is below carries, and whoever pushes yields (the agent and what it holds): so a
        # stack does not sink, and what is squeezed against a wall stays out of it.
        firm = jnp.where(pairs.nz != 0, pairs.nz > 0, pushes).astype(c.x.dtype)
        for i in range(physics.passes):
            c = contacts.part_bodies(c, pairs, dt, jnp.ones_like(firm) if i < physics.passes - 2 else firm)
            if boxes is not None:
                c = contacts.stop_at_boxes(c, boxes, dt)
            c = contacts.stop_at_walls(c, props.room, dt)
        c = contacts.ease_apart(c, pairs)
        c = c._replace(x=c.x + dt * c.vx, y=c.y + dt * c.vy, z=c.z + dt * c.vz)
        # Twice, for a body that is wedged between furniture and wall.
        for _ in range(2 if boxes is not None else 1):
            if boxes is not None:
                c = contacts.push_out(c, contacts.against(c, props.solids, here))
            c = contacts.keep_inside(c, props.room)
    return world._replace(
        agent=jnp.stack([c.x[n], c.y[n]]),
        stride=jnp.stack([c.vx[n], c.vy[n]]),
        position=jnp.where(props.present[:, None], jnp.stack([c.x[:n], c.y[:n], c.z[:n]], -1), world.position),
        velocity=jnp.where(props.present[:, None], jnp.stack([c.vx[:n], c.vy[:n], c.vz[:n]], -1), 0.0),
    )


def _accelerate(
    physics: Physics,
    c: Cylinders,
    held: Bool[Array, " b"],
    here: Bool[Array, " b"],
    reach: Float[Array, " 3"],
    dt: float,
) -> Cylinders:
    """Free bodies fall; the hand draws the held one to the end of the reach, which moves with the agent."""
    n = c.x.shape[0] - 1
    dx = c.x[n] + dt * c.vx[n] + reach[0] - c.x
    dy = c.y[n] + dt * c.vy[n] + reach[1] - c.y
    dz = physics.eye_height + reach[2] - c.z
    speed = jnp.sqrt(dx * dx + dy * dy + dz * dz + 1e-12) / dt
    slow = jnp.minimum(physics.hand_speed / speed, 1.0) / dt
    falling = here & (c.lift > 0)
    return c._replace(
        vx=jnp.where(held, dx * slow, c.vx),
        vy=jnp.where(held, dy * slow, c.vy),
        vz=jnp.where(held, dz * slow, jnp.where(falling, c.vz - physics.gravity * dt, 0.0)),
    )


def _rub(
    physics: Physics,
    props: Props,
    c: Cylinders,
    pairs: contacts.Contact,
    boxes: contacts.Contact | None,
    slides: Bool[Array, " b"],
    dt: float,
) -> Cylinders:
    """Coulomb friction on bodies that something carries."""
    carried = (c.z - c.half < SUPPORT) | ((pairs.gap < SUPPORT) & (pairs.nz > 0) & pairs.touches).any(1)
    if boxes is not None:
        carried = carried | ((boxes.gap < SUPPORT) & (boxes.nz > 0) & boxes.touches).any(1)
    speed = jnp.sqrt(c.vx**2 + c.vy**2 + 1e-12)
    keep = jnp.maximum(1.0 - physics.friction * physics.gravity * dt / speed, 0.0)
    keep = jnp.where(carried & slides, keep, 1.0)
    return c._replace(vx=c.vx * keep, vy=c.vy * keep)


def _turn_bodies(physics: Physics, world: World, control: Float[Array, " 9"], turned: Float[Array, ""]) -> World:
    """SPIN turns the held body, which also turns with the head; a free body rights itself."""
    torque = jnp.stack([_strength(control, name) for name in ("SPIN_RIGHT", "SPIN_UP", "SPIN_FORWARD")])
    spin = jnp.where(world.held >= 0, physics.keep * world.spin + physics.spin_gain * torque, 0.0)
    axes = rotation.view(world.heading, world.pitch)
    in_hand = rotation.multiply(rotation.from_vector(spin @ axes), rotation.about_z(-turned))
    held = (jnp.arange(world.position.shape[0]) == world.held)[:, None]
    turn = jnp.where(held, in_hand, rotation.from_vector(physics.righting * _tilt(world.attitude)))
    return world._replace(spin=spin, attitude=rotation.normalise(rotation.multiply(turn, world.attitude)))


def _tilt(attitude: Float[Array, "n 4"]) -> Float[Array, "n 3"]:
    """The rotation vector that brings each body upright."""
    w, x, y, z = (attitude[:, i] for i in range(4))
    up_x, up_y, up_z = 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)
    # The axis is up × z; where the body stands on its head any horizontal axis will do, so x it is.
    ax, ay = jnp.where(up_z < -0.9999, 1e-3, up_y), jnp.where(up_z < -0.9999, 0.0, -up_x)
    length = jnp.sqrt(ax * ax + ay * ay + 1e-12)
    angle = jnp.arctan2(length, up_z)
    return jnp.stack([ax, ay, jnp.zeros_like(ax)], -1) * (angle / length)[:, None]


def _slip(physics: Physics, world: World) -> World:
    """A held body that is stuck too far from the hand is let go. The heading is kept within a turn."""
    wanted = eye(physics, world) + world.distance * rotation.view(world.heading, world.pitch)[2]
    lag = jnp.sqrt(jnp.sum((_row(world.position, world.held) - wanted) ** 2))
    return world._replace(
        held=jnp.where(lag > physics.slip, -1, world.held),
        heading=jnp.remainder(world.heading + jnp.pi, 2 * jnp.pi) - jnp.pi,
    )
