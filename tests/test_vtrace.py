"""V-trace against rlax, and at episode ends by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax

from daxlab.learning.vtrace import vtrace


def random_sequences(seed: int, batch: int = 6, length: int = 17):
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(batch, length + 1)).astype(np.float32)
    r = rng.normal(size=(batch, length)).astype(np.float32)
    discount = (0.95 * (rng.random((batch, length)) > 0.2)).astype(np.float32)
    rho = np.exp(rng.normal(size=(batch, length))).astype(np.float32)
    mask = rng.random((batch, length)) > 0.2
    return v[:, :-1], v[:, 1:], r, discount, rho, mask


@pytest.mark.parametrize("lambda_", [1.0, 0.8])
@pytest.mark.parametrize("seed", [0, 1])
def test_vtrace_is_that_of_rlax(seed, lambda_):
    v_tm1, v_t, r_t, discount_t, rho_tm1, _ = random_sequences(seed)
    assert (discount_t[:, 1:-1] == 0).any()
    ours = jax.vmap(lambda *a: vtrace(*a, lambda_=lambda_))(v_tm1, v_t, r_t, discount_t, rho_tm1)
    theirs = jax.vmap(lambda *a: rlax.vtrace_td_error_and_advantage(*a, lambda_=lambda_))(
        v_tm1, v_t, r_t, discount_t, rho_tm1
    )
    assert ours.target_tm1.shape == (6, 17)
    np.testing.assert_allclose(ours.target_tm1 - v_tm1, theirs.errors, atol=1e-5)
    # rlax bootstraps from v_t at the end of the sequence and, at λ < 1, mixes v_tm1[1:], which is our v_t.
    np.testing.assert_allclose(ours.advantage_tm1, theirs.pg_advantage, atol=1e-5)


def test_a_masked_sequence_is_its_pieces():
    v_tm1, v_t, r_t, discount_t, rho_tm1, mask = random_sequences(3)
    jitted = jax.jit(vtrace)
    for row in range(2):
        sequence = [a[row] for a in (v_tm1, v_t, r_t, discount_t, rho_tm1)]
        result = jitted(*sequence, jnp.asarray(mask[row]))
        pieces = [p for p in np.split(np.arange(17), np.where(~mask[row])[0]) if len(p)]
        assert len(pieces) > 1
        for piece in pieces:
            kept = piece[mask[row, piece]]
            if len(kept) == 0:
                continue
            alone = jitted(*[a[kept] for a in sequence])
            np.testing.assert_allclose(result.target_tm1[kept], alone.target_tm1, atol=1e-5)
            np.testing.assert_allclose(result.advantage_tm1[kept], alone.advantage_tm1, atol=1e-5)
        np.testing.assert_array_equal(result.target_tm1[~mask[row]], v_tm1[row][~mask[row]])


def test_no_gradient_flows_into_the_targets():
    v_tm1, v_t, r_t, discount_t, rho_tm1, _ = (a[0] for a in random_sequences(0))
    gradient = jax.grad(lambda v: sum(x.sum() for x in vtrace(v, v_t, r_t, discount_t, rho_tm1)))(v_tm1)
    assert np.all(gradient == 0)
