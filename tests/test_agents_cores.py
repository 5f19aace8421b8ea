"""The laws that every core memory keeps, whatever its options."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.agents import memory
from daxlab.agents.agent import CORE_TYPES
from daxlab.agents.config import AgentConfig, LanguageConfig, MemoryConfig, TransformerConfig, VisionConfig
from daxlab.agents.core import CoreInput, Reads, read_share

# Compiling is what these tests cost, so they share cores and one length of unroll.
LENGTH = 14
V, L = 6, 4
SIZE = 5
RING = ("dnc", "dcem", "dcem_match")

CASES = [
    pytest.param(core, options, id="-".join([core, *(f"{k}={v}" for k, v in options.items())]))
    for core, options in [
        ("lstm", {}),
        ("dnc", {}),
        ("dnc", {"size": 30, "k": 3, "dtype": "bfloat16", "write_gradient": True}),
        ("dcem", {}),
        ("dcem", {"size": 30, "k": 3, "write_gradient": True}),
        ("dcem", {"k": 3, "dtype": "bfloat16"}),
        ("dcem_match", {}),
        ("dcem_match", {"skip_present": True, "query_gain": 0.3, "match_cosine": True}),
        ("dcem_match", {"skip_present": True, "query_gain": 0.0, "match_cosine": True}),
        ("gtrxl", {}),
        ("gtrxl", {"size": 30, "dtype": "bfloat16"}),
    ]
]


@functools.cache
def make(core: str, **options):
    config = AgentConfig(
        core=core,
        vision=VisionConfig(embedding=V),
        language=LanguageConfig(embedding=L),
        memory=MemoryConfig(**({"size": SIZE, "k": SIZE, "heads": 2, "query": 5, "value": 7} | options)),
        transformer=TransformerConfig(layers=2, width=8, heads=2, head=3, mlp=5, gate_bias=0.5),
        latent=7,
        lstm=6,
    )
    return CORE_TYPES[core](jax.random.key(0), config)


def inputs(seed: int, length: int = LENGTH, ends: float = 0.2) -> CoreInput:
    """Random steps. Few different sentences, so that keys repeat and similarities tie."""
    rng = np.random.default_rng(seed)
    sentences = np.random.default_rng(99).normal(size=(3, L))
    return CoreInput(
        v=np.float32(rng.normal(size=(length, V))),
        l=np.float32(sentences[rng.integers(0, 3, length)]),
        first=rng.random(length) < ends,
        write=rng.random(length) < 0.7,
    )


def at(x, index):
    return jax.tree.map(lambda a: a[index], x)


@eqx.filter_jit
def run_unroll(core, state, x):
    return core.unroll(state, x)


@eqx.filter_jit
def run_step(core, state, x):
    return core.step(state, x)


def join(outputs, how):
    return jax.tree.map(lambda *a: how([np.float32(x) for x in a]), *outputs)


def run_steps(core, state, x):
    """A loop of steps."""
    outputs = []
    for t in range(len(x.first)):
        state, output = run_step(core, state, at(x, t))
        outputs.append(output)
    return state, join(outputs, np.stack)


def run_unrolls(core, state, x):
    """Unrolls of LENGTH, each from the state that the one before left."""
    outputs = []
    for t in range(0, len(x.first), LENGTH):
        state, output = run_unroll(core, state, at(x, slice(t, t + LENGTH)))
        outputs.append(output)
    return state, join(outputs, np.concatenate)


@eqx.filter_jit
def gradient(core, x, weight, unroll=lambda core, x: core.unroll(core.initial(), x)):
    """Gradient of a sum over some of the steps, to the core and its inputs."""

    def loss(both):
        output = unroll(*both)[1]
        return weight @ (jnp.sum(output.e**2, -1) + jnp.sum(output.h**2, -1))

    return eqx.filter_grad(loss)((core, x))


def seen(state):
    """A state without what can't be seen: leftovers in the ring, and where in it the rows lie."""
    if not hasattr(state, "ring"):
        return state
    ring, age = state.ring, np.arange(len(state.ring.time))
    slots = (int(ring.written) - 1 - age) % len(age)
    rows = [np.float32(column)[slots] * (age < ring.written)[:, None] for column in ring.columns]
    return state._replace(ring=(rows, ring.written, ring.clock))


def assert_close(a, b, tolerance=1e-5):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(np.float32(x), np.float32(y), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize(("core", "options"), CASES)
def test_unrolls_one_after_the_other_are_a_loop_of_steps(core, options):
    core = make(core, **options)
    # bfloat16 rows may round to the other side in the last bit, where float32 sums differ in theirs.
    tolerance = 2e-2 if options.get("dtype") == "bfloat16" else 1e-5
    for seed, ends in ((0, 0.0), (1, 0.1), (2, 0.2), (3, 0.5)):
        x = inputs(seed, length=2 * LENGTH, ends=ends)
        state, outputs = run_steps(core, core.initial(), x)
        state_u, outputs_u = run_unrolls(core, core.initial(), x)
        assert_close(outputs, outputs_u, tolerance)
        assert_close(seen(state), seen(state_u), tolerance)


@pytest.mark.parametrize("core", ["dcem", "gtrxl"])
def test_an_unroll_is_the_two_halves_of_it(core):
    core = make(core)
    x = inputs(4, length=2 * LENGTH, ends=0.1)
    state, outputs = run_unroll(core, core.initial(), x)
    state_h, outputs_h = run_unrolls(core, core.initial(), x)
    assert_close(outputs, outputs_h)
    assert_close(seen(state), seen(state_h))


@pytest.mark.parametrize("core", CORE_TYPES)
def test_nothing_leaks_across_an_episodes_end(core):
    core = make(core)
    start = 6
    before = np.arange(LENGTH) < start
    x, other = inputs(0, ends=0.0), inputs(1, ends=0.3)
    x.first[start] = True
    changed = jax.tree.map(lambda a, b: np.where(before.reshape(-1, *[1] * (a.ndim - 1)), b, a), x, other)
    one, two = run_unroll(core, core.initial(), x)[1], run_unroll(core, core.initial(), changed)[1]
    assert not np.allclose(one.e[start - 1], two.e[start - 1])
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(a[start:], b[start:])

    d_v = gradient(core, at(x, slice(None)), np.float32(~before))[1].v
    assert np.all(d_v[:start] == 0)
    assert np.any(d_v[start:] != 0)


@pytest.mark.parametrize("core", CORE_TYPES)
def test_first_forgets_any_state_before_its_step(core):
    core = make(core)
    leftover = jax.tree.map(lambda a: np.full_like(a, 7), core.initial())
    x = inputs(3)
    x.first[0] = True
    assert_close(run_unroll(core, core.initial(), x)[1], run_unroll(core, leftover, x)[1], 0)
    assert_close(run_step(core, core.initial(), at(x, 0))[1], run_step(core, leftover, at(x, 0))[1], 0)


@pytest.mark.parametrize("core", RING)
@pytest.mark.parametrize("run", [run_steps, run_unrolls])
def test_what_can_be_read_is_the_last_m_writes_of_the_episode_before_the_step(core, run):
    core = make(core)
    x = inputs(5, length=2 * LENGTH, ends=0.06)
    times = run(core, core.initial(), x)[1].reads.times.astype(int)
    written, clock, evicted = [], 0, 0
    for t in range(2 * LENGTH):
        if x.first[t]:
            written, clock = [], 0
        expected = sorted(written[-SIZE:] + [-1] * (SIZE - len(written)))
        for head in times[t]:
            assert sorted(head.tolist()) == expected
        evicted += len(written) > SIZE
        if x.write[t]:
            written.append(clock)
        clock += 1
    assert evicted > 5
    assert x.first[1:].any()


@pytest.mark.parametrize("run", [run_steps, run_unrolls])
def test_the_transformer_attends_to_itself_and_m_steps_before_within_the_episode(run):
    core = make("gtrxl")
    x = inputs(5, length=2 * LENGTH, ends=0.1)
    reads = run(core, core.initial(), x)[1].reads
    np.testing.assert_allclose(reads.weights.sum(-1), 1.0, rtol=1e-5)
    clock = 0
    for t in range(2 * LENGTH):
        clock = 0 if x.first[t] else clock
        expected = [clock - d if d <= clock else -1 for d in range(SIZE + 1)]
        for layer in reads.times[t]:
            assert layer.tolist() == expected
        clock += 1


@pytest.mark.parametrize(
    ("core", "options"),
    [
        ("lstm", {}),
        ("dnc", {"write_gradient": True}),
        ("dcem", {"k": 3}),
        ("dcem", {"write_gradient": True}),
        ("dcem_match", {"query_gain": 0.3, "match_cosine": True}),
        ("dcem_match", {"query_gain": 0.0}),
    ],
)
def test_the_gradient_of_an_unroll_is_that_of_a_loop_of_steps(core, options):
    """For transformers it is not: what they wrote into their memory in this unroll has a gradient there alone."""
    core, x = make(core, **options), inputs(3, ends=0.15)
    weight = np.float32(np.random.default_rng(0).uniform(size=LENGTH))
    loop = gradient(core, x, weight, lambda core, x: jax.lax.scan(lambda s, x: core.step(s, x), core.initial(), x))
    assert_close(gradient(core, x, weight), loop, 2e-5)
    assert any(np.abs(a).max() > 1e-2 for a in jax.tree.leaves(loop))


@pytest.mark.parametrize(
    ("core", "options"),
    [(core, {}) for core in CORE_TYPES] + [(core, {"write_gradient": True}) for core in ("dnc", "dcem")],
)
def test_gradients_are_finite_with_an_empty_and_with_a_full_memory(core, options):
    core = make(core, **options)
    x, nothing = inputs(0), np.zeros(LENGTH, bool)
    silent = x._replace(l=np.zeros_like(x.l))
    for case in (x, silent, x._replace(write=nothing), x._replace(first=~nothing)):
        found = gradient(core, case, np.ones(LENGTH, np.float32))
        assert all(np.isfinite(a).all() for a in jax.tree.leaves(found))


@pytest.mark.parametrize("core", RING)
def test_reads_of_an_empty_memory_are_zero(core):
    core = make(core)
    x = inputs(0)._replace(write=np.zeros(LENGTH, bool))
    state, output = run_unroll(core, core.initial(), x)
    assert np.all(output.reads.weights == 0)
    assert np.all(output.reads.times == -1)
    assert all(np.isfinite(a).all() for a in jax.tree.leaves((state, output)))


@pytest.mark.parametrize("core", ["dnc", "dcem"])
@pytest.mark.parametrize("wanted", [False, True])
def test_gradient_through_writes_is_an_option(core, wanted):
    core = make(core, **({"write_gradient": True} if wanted else {}))
    # Cut the way from an earlier view to a later latent through the LSTM: the memory's is left.
    core = eqx.tree_at(lambda c: c.cell.x.weight, core, replace_fn=jnp.zeros_like)
    x = inputs(1, ends=0.0)._replace(write=np.ones(LENGTH, bool))
    d_v = gradient(core, x, np.float32(np.arange(LENGTH) == LENGTH - 1))[1].v
    assert np.any(d_v[:-1] != 0) == wanted
    assert np.any(d_v[-1] != 0)


def test_dcem_match_carries_the_match_of_view_and_recalled_view():
    core = make("dcem_match")
    x = inputs(2, ends=0.0)._replace(write=np.ones(LENGTH, bool))
    state, _ = run_unroll(core, core.initial(), x)
    moment = core._prepare(at(x, 0))._replace(query=jnp.stack([x.l[0], x.l[1]]))

    def read(core, ring, moment):
        chosen = core._choose(memory.table(ring), None, moment)
        moment = moment._replace(found=core._find(ring.columns, chosen))
        return core._read(None, moment), Reads(core._weights(None, moment), chosen.time)

    # The read-out's layer passes one head's match on as it is, and nothing else.
    for head in range(2):
        passes = jnp.zeros((2, 7 + V, 7)).at[head, 7:, :V].set(jnp.eye(V)).reshape(-1, 7)
        told = eqx.tree_at(lambda c: c.latent_r.weight, core, passes)
        match, reads = eqx.filter_jit(read)(told, state.ring, moment)
        recalled = sum(w * x.v[t] for w, t in zip(reads.weights[head], reads.times[head], strict=True))
        np.testing.assert_allclose(match[:V], x.v[0] * recalled, rtol=1e-4)


def test_a_query_that_starts_from_what_is_heard_is_another_start_of_the_same_query():
    drawn, heard = make("dcem"), make("dcem", query_start="heard")
    x = at(inputs(0), 0)
    before, after = (core._query(jnp.ones(6), core._prepare(x)) for core in (drawn, heard))
    np.testing.assert_allclose(after, before + x.l, atol=1e-6)
    assert jax.tree.map(np.shape, heard.query_x) == jax.tree.map(np.shape, drawn.query_x)
    np.testing.assert_array_equal(heard.query_x.weight[:V], drawn.query_x.weight[:V])


def test_dcem_match_reads_the_views_whose_name_is_heard():
    """With no other query than the sentence, the rows read first are those written while it was heard, newest first."""
    core = make("dcem_match")
    core = eqx.tree_at(lambda c: (c.query_x.weight, c.query_h.weight), core, replace_fn=jnp.zeros_like)
    x = inputs(2, ends=0.0)._replace(write=np.ones(LENGTH, bool))
    reads = run_unroll(core, core.initial(), x)[1].reads
    for t in range(LENGTH):
        seen_before = range(max(0, t - SIZE), t)
        same = [u for u in seen_before if np.array_equal(x.l[u], x.l[t])][::-1]
        assert reads.times[t, 0, : len(same)].tolist() == same
        share = read_share(at(reads, t), jnp.asarray(np.isin(np.arange(LENGTH), same)))
        assert float(share) == pytest.approx(
            float(reads.weights[t, :, : len(same)].sum() / max(1e-9, reads.weights[t].sum()))
        )


@pytest.mark.parametrize("run", [run_steps, run_unrolls])
def test_rows_of_the_present_text_are_not_read_if_so_wished(run):
    core = make("dcem_match", skip_present=True)
    x = inputs(2, ends=0.0)._replace(write=np.ones(LENGTH, bool))
    reads = run(core, core.initial(), x)[1].reads
    read_any = 0
    for t in range(LENGTH):
        times = np.asarray(reads.times[t, 0]).astype(int)
        read_any += (times >= 0).sum()
        assert not any(np.array_equal(x.l[u], x.l[t]) for u in times[times >= 0])
    assert read_any > LENGTH


def test_the_match_as_one_number_is_the_cosine_of_what_is_seen_and_recalled():
    """With one row in memory that row is what is recalled; all else being zero, the latent tells the cosine alone."""
    core = make("dcem_match", match_cosine=True, heads=1)
    silent = jax.tree.map(jnp.zeros_like, eqx.filter(core, eqx.is_array))
    core = eqx.combine(eqx.tree_at(lambda c: c.latent_c.weight, silent, jnp.array([[1.0, -1.0] + [0.0] * 5])), core)
    x = inputs(4)._replace(write=np.ones(LENGTH, bool), first=np.arange(LENGTH) == 0)
    state, _ = core.step(core.initial(), at(x, 0))
    cosine = np.dot(x.v[0], x.v[1]) / np.linalg.norm(x.v[0]) / np.linalg.norm(x.v[1])
    e = core.step(state, at(x, 1))[1].e
    np.testing.assert_allclose(e[:2], [max(cosine, 0), max(-cosine, 0)], atol=1e-4)
    assert abs(cosine) > 0.1


@pytest.mark.parametrize("core", ["dnc", "dcem"])
def test_acting_writes_to_the_memory_in_place(core):
    """The compiled loop over steps holds no copy of the memory: at full size that would cost more than all the rest."""
    rooms, size = 3, 77
    core = make(core, size=size)
    state = jax.tree.map(lambda a: jnp.stack([a] * rooms), core.initial())
    x = jax.tree.map(lambda a: np.stack([a] * rooms, axis=1), inputs(0))

    def act(state, x):
        return jax.lax.scan(lambda state, x: jax.vmap(lambda *a: core.step(*a))(state, x), state, x)

    program = jax.jit(act, donate_argnums=0).lower(state, x).compile().as_text()
    assert f"[{rooms},{size}," in program
    assert not [line for line in program.splitlines() if f"[{rooms},{size}," in line.split("(")[0] and " copy(" in line]
