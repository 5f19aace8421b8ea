"""Policy and value from [e, h], each through its own hidden layer (section 3; sizes in A.4.2)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from daxlab.agents.config import AgentConfig
from daxlab.agents.layers import Linear


class Heads(eqx.Module):
    """[e, h] → logits over the actions, and the value."""

    policy_latent: Linear
    policy: Linear
    value_latent: Linear
    value: Linear

    def __init__(self, key: PRNGKeyArray, config: AgentConfig, inputs: int, num_actions: int) -> None:
        keys = jax.random.split(key, 4)
        self.policy_latent = Linear(keys[0], inputs, config.policy)
        # Small, so that the first policy is close to uniform whatever e and h are.
        self.policy = Linear(keys[1], config.policy, num_actions, scale=0.01)
        self.value_latent = Linear(keys[2], inputs, config.value)
        self.value = Linear(keys[3], config.value, 1, scale=0.01)

    def __call__(
        self, e: Float[Array, "... e"], h: Float[Array, "... h"]
    ) -> tuple[Float[Array, "... a"], Float[Array, ...]]:
        """Logits and value of one step, or of any number at once."""
        x = jnp.concatenate([e, h], axis=-1)
        logits = self.policy(jax.nn.relu(self.policy_latent(x)))
        value = self.value(jax.nn.relu(self.value_latent(x)))
        return logits, value[..., 0]
