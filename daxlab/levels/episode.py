"""One episode: discovery, then instruction (paper, section 2). Pure functions of one room; `jax.vmap` for many."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, UInt32

from daxlab.levels import corridor, putting
from daxlab.levels.agenda import Agenda, phases, plan, row
from daxlab.levels.cast import dress, made_up_names, own_names, sample
from daxlab.levels.layout import Layout, build, desk_top, draw
from daxlab.levels.putting import Putting
from daxlab.levels.spec import DISCOVERY, DISTRACTOR, INSTRUCTION, Level
from daxlab.levels.vocabulary import encode
from daxlab.world import physics
from daxlab.world.sight import aimed
from daxlab.world.state import Props, World

RUNNING, RIGHT, WRONG, TIMEOUT = 0, 1, 2, 3
"""Outcomes: still running; the named object was lifted (or put in its place); another was; time ran out."""

_NAMING = encode("this is a")
_LIFT = encode("pick up a")
_GO = encode("go to a")
_NAME_AT = 3
"""Where the name stands in these sentences."""


class Episode(NamedTuple):
    """All there is to know about one room; the agent sees only the picture and the text."""

    world: World
    props: Props
    layout: Layout
    """How the present phase began."""
    next_layout: Layout
    """How the instruction phase will begin."""
    names: Int[Array, " n"]
    """Token id of each object's name."""
    target: Int[Array, ""]
    """Slot of the object that the instruction asks for."""
    phase: Int[Array, ""]
    clock: Int[Array, ""]
    """Steps since the episode began."""
    visited: Bool[Array, " n"]
    """Objects whose name was heard."""
    lingered: Int[Array, ""]
    """Steps since all names were heard; in a corridor, since the last object was collected."""
    fixated: Int[Array, ""]
    """Slot of the object in the middle of the view and near; in a corridor, of the one that is named; -1 if none."""
    raised: Int[Array, ""]
    """Consecutive steps that the held object has been high enough, or the handled one has lain in a place."""
    lifted: Int[Array, ""]
    """Slot of the object whose lift (or putting, or collecting) ended the episode; -1 before."""
    outcome: Int[Array, ""]
    reward: Float[Array, ""]
    """Of the last step."""
    key: UInt32[Array, " 2"]
    """For the next episode of this room."""
    putting: Putting | None = None
    """Of levels with goals only."""
    agenda: Agenda | None = None
    """Of levels with more than two phases only."""


def start(level: Level, key: UInt32[Array, " 2"]) -> Episode:
    """A fresh episode: objects, names, targets and every phase's layout are drawn here."""
    k_next, k_object, k_name, k_target, k_first, k_second = jax.random.split(jax.random.wrap_key_data(key), 6)
    n = level.num_objects
    agenda = plan(level, k_object) if level.has_agenda else None
    if agenda is None:
        chosen = sample(k_object, len(level.objects), n)
        mesh, later = dress(level, jax.random.fold_in(k_object, 1), chosen)
        fast = level.regime == "fast"
        names = made_up_names(level)[sample(k_name, len(level.words), n)] if fast else own_names(level)[chosen]
        target = jax.random.randint(k_target, (), 0, n, jnp.int32)
        layout, next_layout = _layouts(level, (k_first, k_second), (mesh, later), target)
    else:
        layout, names, target = row(agenda, agenda.at)
        next_layout = layout
    props, world = build(level, layout)
    none, zero = jnp.array(-1, jnp.int32), jnp.array(0, jnp.int32)
    episode = Episode(
        world=world,
        props=props,
        layout=layout,
        next_layout=next_layout,
        names=names,
        target=target,
        phase=zero + (DISCOVERY if level.two_phase else INSTRUCTION),
        clock=zero,
        visited=jnp.zeros(n, bool),
        lingered=zero,
        fixated=none,
        raised=zero,
        lifted=none,
        outcome=zero + RUNNING,
        reward=jnp.zeros(()),
        key=jax.random.key_data(k_next),
        putting=Putting(_goal(level, k_target), none) if level.goals else None,
        agenda=agenda,
    )
    # What is in view from the start is named at once, but a visit takes an action.
    return episode._replace(fixated=fixation(level, episode))


def _layouts(
    level: Level, keys: tuple[Array, Array], mesh: tuple[Array, Array], target: Int[Array, ""]
) -> tuple[Layout, Layout]:
    """The layouts of the two phases; of a one-phase level the same twice."""
    if level.setting == "corridor":
        return corridor.draw_corridor(level, keys[0], mesh[0]), corridor.draw_room(level, keys[1], mesh[1], target)
    if not level.two_phase:
        return (draw(level, keys[0], mesh[0]),) * 2
    # Drawing is what compiles longest, so the program has it once.
    both = jax.vmap(lambda key, mesh: draw(level, key, mesh))(jnp.stack(keys), jnp.stack(mesh))
    first, second = (jax.tree.map(lambda x, i=i: x[i], both) for i in range(2))
    return first, second


def advance(level: Level, episode: Episode, control: Float[Array, " 9"]) -> Episode:
    """The episode one action later. An ended episode stays as it is, with no further reward."""
    world = physics.step(level.physics, episode.props, episode.world, control)
    after = episode._replace(world=world, clock=episode.clock + 1, reward=jnp.zeros(()))
    if episode.agenda is not None:
        after = _select(_is_over(level, episode, episode.agenda), _begin_next(level, after, episode.agenda), after)
    elif level.two_phase:
        over = _has_heard(level, episode) | (after.clock >= level.discovery_steps)
        after = _select((episode.phase == DISCOVERY) & over, _begin_instruction(level, after), after)
    after = _collect(level, after) if level.setting == "corridor" else _attend(level, after)
    timeout = (after.clock >= level.episode_steps) & (after.outcome == RUNNING)
    after = after._replace(outcome=jnp.where(timeout, TIMEOUT, after.outcome))
    return _select(episode.outcome == RUNNING, after, episode._replace(reward=jnp.zeros(())))


def _attend(level: Level, after: Episode) -> Episode:
    """What the agent looks at is named, and what it does with its hand is judged."""
    after = after._replace(fixated=fixation(level, after))
    instructed = _instruct(level, after) if after.putting is None else _instruct_to_put(level, after, after.putting)
    if after.agenda is not None:
        instructed = _select(after.phase == DISTRACTOR, _distracted(level, instructed), instructed)
    return _select(after.phase == DISCOVERY, _discover(level, after), instructed) if level.two_phase else instructed


def _has_heard(level: Level, episode: Episode) -> Bool[Array, ""]:
    """Whether discovery is done: all names were heard, or the corridor ends here."""
    if level.setting == "corridor":
        return corridor.at_end(level.physics, episode.props, episode.world)
    return episode.lingered >= level.linger


def fixation(level: Level, episode: Episode) -> Int[Array, ""]:
    """Slot of the object that the agent looks at from near; -1 if none. In a corridor, of the one that is named."""
    if level.setting == "corridor":
        return corridor.upcoming(episode.props) if level.named_before else jnp.full_like(episode.fixated, -1)
    return aimed(level.physics, episode.props, episode.world, level.fixation_range)


def text(level: Level, episode: Episode) -> Int[Array, " length"]:
    """What the text channel says: the fixated object's name, or the instruction."""
    discovering = episode.phase == DISCOVERY
    silent = discovering & (episode.fixated < 0)
    name = _pick(episode.names, jnp.where(discovering, episode.fixated, episode.target))
    sentence = _fill(jnp.where(discovering, _NAMING, _GO if level.setting == "corridor" else _LIFT), _NAME_AT, name)
    if episode.putting is not None:
        asked = jnp.asarray(putting.sentences(level))[episode.putting.goal]
        sentence = jnp.where(discovering, sentence, _fill(asked, putting.NAME_AT, name))
    return jnp.where(silent, 0, sentence).astype(jnp.int32)


def _fill(sentence: Int[Array, " length"], at: int, name: Int[Array, ""]) -> Int[Array, " length"]:
    return jnp.where(np.arange(len(_NAMING)) == at, name, sentence)


def _discover(level: Level, episode: Episode) -> Episode:
    """Discovery: the first fixation of each object counts as a visit and is rewarded."""
    seen = jnp.arange(level.num_objects) == episode.fixated
    fresh = (seen & ~episode.visited).any()
    return episode._replace(
        visited=episode.visited | seen,
        lingered=episode.lingered + episode.visited.all(),
        reward=jnp.where(fresh, level.shaping, 0.0),
    )


def _begin_instruction(level: Level, episode: Episode) -> Episode:
    """All positions are drawn anew and the instruction is given."""
    props, world = build(level, episode.next_layout)
    phase = jnp.array(INSTRUCTION, jnp.int32)
    return episode._replace(world=world, props=props, layout=episode.next_layout, phase=phase)


def _instruct(level: Level, episode: Episode) -> Episode:
    """Instruction to lift: the first object that is held high for long enough ends the episode, right or wrong."""
    world, props = episode.world, episode.props
    bottom = _pick(world.position[:, 2] - props.half_height, world.held)
    high = (world.held >= 0) & (bottom > desk_top(level) + level.lift_height)
    raised = jnp.where(high, episode.raised + 1, 0)
    done = raised >= level.lift_steps
    right = world.held == episode.target
    return episode._replace(
        raised=raised,
        lifted=jnp.where(done, world.held, -1),
        outcome=jnp.where(done, jnp.where(right, RIGHT, WRONG), RUNNING),
        reward=_earned(level, done, right),
    )


def _instruct_to_put(level: Level, episode: Episode, asked: Putting) -> Episode:
    """Instruction to put: the first object that lies, let go, at any of the level's goals ends the episode."""
    world = episode.world
    handled = jnp.where(world.held >= 0, world.held, asked.handled)
    there = putting.stands(level, episode.layout, episode.props, world, handled)
    rests = (world.held < 0) & (handled >= 0) & there.any() & putting.still(world, handled)
    raised = jnp.where(rests, episode.raised + 1, 0)
    done = raised >= level.lift_steps
    right = (handled == episode.target) & (there & (jnp.arange(len(level.goals)) == asked.goal)).any()
    return episode._replace(
        putting=asked._replace(handled=handled),
        raised=raised,
        lifted=jnp.where(done, handled, -1),
        outcome=jnp.where(done, jnp.where(right, RIGHT, WRONG), RUNNING),
        reward=_earned(level, done, right),
    )


def _collect(level: Level, episode: Episode) -> Episode:
    """What the agent walks into is gone: in the corridor it is named for a while, in the room it is the answer."""
    slot = corridor.touched(level.physics, episode.props, episode.world)
    taken, hit = jnp.arange(level.num_objects) == slot, slot >= 0
    props = episode.props._replace(present=episode.props.present & ~taken)
    since = jnp.where(hit, 0, episode.lingered + 1)
    if level.named_before:
        named = corridor.upcoming(props)
    else:
        named = jnp.where(hit, slot, jnp.where(since < level.linger, episode.fixated, -1))
    discovering = episode.phase == DISCOVERY
    done, right = ~discovering & hit, slot == episode.target
    return episode._replace(
        props=props,
        visited=episode.visited | (taken & discovering),
        lingered=since,
        fixated=jnp.where(discovering, named, -1),
        lifted=jnp.where(done, slot, -1),
        outcome=jnp.where(done, jnp.where(right, RIGHT, WRONG), RUNNING),
        reward=jnp.where(discovering & hit, level.shaping, _earned(level, done, right)),
    )


def _earned(level: Level, done: Bool[Array, ""], right: Bool[Array, ""]) -> Float[Array, ""]:
    """What the end of an episode is worth."""
    if level.stakes:
        return jnp.where(done, jnp.where(right, level.stakes, -level.stakes), 0.0)
    return jnp.where(done & right, 1.0, 0.0)


def _goal(level: Level, key: Array) -> Int[Array, ""]:
    return jax.random.randint(jax.random.fold_in(key, 1), (), 0, len(level.goals), jnp.int32)


def _is_over(level: Level, episode: Episode, agenda: Agenda) -> Bool[Array, ""]:
    """Whether the present phase gives way to the next at this step; the question never does."""
    steps = episode.clock + 1 - agenda.began
    heard = (episode.lingered >= level.linger) | (steps >= level.discovery_steps)
    lifted = (episode.lifted >= 0) | (steps >= level.distractor_steps)
    return jnp.where(episode.phase == DISCOVERY, heard, (episode.phase == DISTRACTOR) & lifted)


def _begin_next(level: Level, episode: Episode, agenda: Agenda) -> Episode:
    """The next phase of the agenda: other objects at other places."""
    at = agenda.at + 1
    layout, names, target = row(agenda, at)
    props, world = build(level, layout)
    phase = jnp.asarray(np.array(phases(level), np.int32))[at]
    zero = jnp.zeros_like(episode.lingered)
    return episode._replace(
        world=world,
        props=props,
        layout=layout,
        names=names,
        target=target,
        phase=phase,
        # Of the question's objects, those stay visited whose names were heard in the latest round.
        visited=episode.visited & (phase != DISCOVERY),
        lingered=zero,
        raised=zero,
        lifted=zero - 1,
        agenda=agenda._replace(at=at, began=episode.clock),
    )


def _distracted(level: Level, episode: Episode) -> Episode:
    """A distractor task: a lift ends the phase, not the episode; the right one earns as much as a visit."""
    right = episode.outcome == RIGHT
    return episode._replace(
        outcome=jnp.full_like(episode.outcome, RUNNING), reward=jnp.where(right, level.shaping, 0.0)
    )


def _select(condition: Bool[Array, ""], yes: Episode, no: Episode) -> Episode:
    return jax.tree.map(lambda a, b: a if a is b else jnp.where(condition, a, b), yes, no)


def _pick(values: Array, index: Int[Array, ""]) -> Array:
    """One value of a short list without a gather; zero for index -1."""
    return jnp.where(jnp.arange(values.shape[0]) == index, values, 0).sum()
