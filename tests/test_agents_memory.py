"""The ring, its top-k, and the rule that says what is written."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.agents import memory
from daxlab.agents.writing import initial_writing, selective_write

write = jax.jit(memory.write)


def filled(size: int, writes: int, width: int = 3, key: int = 0) -> memory.Ring:
    ring = memory.empty(size, (width, 1), "float32")
    keys = np.float32(np.random.default_rng(key).normal(size=(writes, width)))
    for n in range(writes):
        ring = write(ring, (keys[n], np.full(1, n, np.float32)), np.array(True), np.zeros(1))
    return ring


@pytest.mark.parametrize("writes", [0, 3, 4, 5, 11])
def test_the_ring_forgets_its_oldest_row_at_exactly_m(writes):
    size = 4
    ring = filled(size, writes)
    table = memory.table(ring)
    assert int(table.visible.sum()) == min(writes, size)
    order = np.asarray(memory.newest_first(ring))
    np.testing.assert_array_equal(table.age[order], np.arange(size))
    newest_first = np.asarray(ring.columns[1])[order, 0][: min(writes, size)]
    assert newest_first.tolist() == list(range(writes))[::-1][:size]
    np.testing.assert_array_equal(ring.time[order][: min(writes, size)], newest_first)


def test_a_step_that_is_not_written_changes_nothing_but_the_clock():
    ring = filled(4, 6)
    after = write(ring, (np.ones(3), np.ones(1)), np.array(False), np.zeros(1))
    assert int(after.clock) == int(ring.clock) + 1
    for a, b in zip(jax.tree.leaves(ring._replace(clock=0)), jax.tree.leaves(after._replace(clock=0)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_closing_an_unroll_writes_each_slot_once_and_only_the_last_episode():
    ring, length = filled(6, 9), 8
    first, wanted = np.arange(length) == 5, np.ones(length, bool)
    rows = (np.ones((length, 3), np.float32), np.float32(100 + np.arange(length))[:, None])

    @jax.jit
    def close(ring):
        return memory.close(ring, rows, memory.moments(ring, first, wanted), wanted)

    after = close(ring)
    # The new episode wrote steps 5, 6 and 7 to slots 0, 1 and 2; the others are as they were.
    assert after.columns[1][:3, 0].tolist() == [105, 106, 107]
    np.testing.assert_array_equal(after.columns[1][3:], ring.columns[1][3:])
    assert (int(after.written), int(after.clock)) == (3, 3)


@pytest.mark.parametrize(("writes", "k"), [(0, 3), (2, 3), (6, 3), (23, 3), (23, 6)])
def test_top_k_against_brute_force(writes, k):
    ring = filled(6, writes)
    table = memory.table(ring)
    # Two decimals, so that some are equal.
    similarity = jnp.round(jax.random.uniform(jax.random.key(1), (50, 6), minval=-1), 1)
    index, valid = jax.jit(lambda s: memory.top_k(s, table, k))(similarity)
    rank = np.asarray(table.age)
    similarity = np.asarray(similarity)
    for head in range(50):
        rows = [slot for slot in range(6) if table.visible[slot]]
        best = sorted(rows, key=lambda slot: (-float(similarity[head, slot]), rank[slot]))[:k]
        assert np.asarray(index[head])[np.asarray(valid[head])].tolist() == best
        assert int(valid[head].sum()) == min(k, writes)


def test_the_rows_chosen_are_the_nearest_by_cosine():
    ring = filled(8, 20)
    table = memory.table(ring)
    query = jax.random.normal(jax.random.key(5), (2, 3))
    recalled = jax.jit(lambda q: memory.choose(table, q, 4))(query)
    similarity = memory.similarity(query, memory.gather(table.columns[0], recalled.rows))
    keys = np.asarray(ring.columns[0])
    for head in range(2):
        cosine = keys @ query[head] / np.linalg.norm(keys, axis=1) / np.linalg.norm(query[head])
        best = np.argsort(-cosine)[:4]
        assert np.asarray(recalled.rows[head]).tolist() == best.tolist()
        np.testing.assert_allclose(similarity[head], cosine[best], rtol=1e-4)
        np.testing.assert_array_equal(recalled.time[head], ring.time[best])


def test_rows_of_a_text_are_known_by_a_product_that_loses_digits_and_no_others_are():
    """Sentences of four words that share three; of the rows' digits only bfloat16's are left, cut, not rounded."""
    words = np.linalg.qr(np.random.default_rng(0).normal(size=(64, 64)))[0]
    keys = np.float32(words[:3].sum(0) + words[3:20])
    cut = (keys.view(np.uint32) & 0xFFFF0000).view(np.float32)
    ring = memory.empty(len(keys), (64,), "float32")._replace(columns=(cut,), written=jnp.array(len(keys)))
    table = memory.table(ring)._replace(inverse=1 / np.linalg.norm(keys, axis=1))
    for i, key in enumerate(keys):
        visible = np.asarray(memory.without(table, key).visible)
        assert np.flatnonzero(~visible).tolist() == [i]


def test_zero_keys_and_zero_queries_are_finite():
    table = memory.table(memory.empty(4, (3,), "float32")._replace(written=jnp.array(4)))
    gradient = jax.jit(jax.grad(lambda q: memory.similarity(q, table.columns[0][None]).sum()))(jnp.zeros((1, 3)))
    assert np.isfinite(gradient).all()


def written_by_hand(texts, firsts, w):
    """A.1.1 as it stands there, with ≠ for =, one episode after the other."""
    result = []
    for t, (text, first) in enumerate(zip(texts, firsts, strict=True)):
        if first or t == 0:
            start, changed, before = t, 0, text
        now = t - start
        if text != before:
            changed = now
        result.append(now - changed < w)
        before = text
    return result


@pytest.mark.parametrize("w", [1, 3])
def test_selective_writing_against_plain_python(w):
    rule = jax.jit(selective_write, static_argnums=3)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        stays = rng.random(40) < 0.75
        words = rng.integers(0, 4, (40, 2))
        for t in range(1, 40):
            if stays[t]:
                words[t] = words[t - 1]
        first = rng.random(40) < 0.1
        first[0] = True
        expected = written_by_hand([tuple(t) for t in words], first, w)
        text = words.astype(np.int32)
        whole = rule(initial_writing(2), text, jnp.asarray(first), w)[1]
        assert np.asarray(whole).tolist() == expected
        state, parts = initial_writing(2), []
        for piece in (slice(0, 7), slice(7, 8), slice(8, 40)):
            state, write = rule(state, text[piece], jnp.asarray(first[piece]), w)
            parts.append(write)
        assert np.concatenate(parts).tolist() == expected


def test_selective_writing_by_hand():
    text = jnp.array([[0], [0], [0], [0], [5], [5], [5], [5], [0], [5]])
    first = jnp.arange(10) == 0
    write = selective_write(initial_writing(1), text, first, 3)[1]
    assert np.asarray(write).astype(int).tolist() == [1, 1, 1, 0, 1, 1, 1, 0, 1, 1]
