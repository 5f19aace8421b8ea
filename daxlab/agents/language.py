"""The text's encoder: word embeddings and one self-attention layer (section 3; sizes in A.4.2)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from daxlab.agents.config import LanguageConfig
from daxlab.agents.layers import Linear, initial_weights, masked_softmax, orthogonal

PADDING = 0
"""The token that is no word."""


class Language(eqx.Module):
    """text → l. The mean over the words of what each attends to; of no words, the output layer's bias alone.

    The paper names no position code and its sentences need none, so a sentence is a bag of words here.
    """

    words: Float[Array, "vocabulary w"]
    query: Linear
    key: Linear
    value: Linear
    output: Linear

    def __init__(self, key: PRNGKeyArray, config: LanguageConfig, vocabulary_size: int) -> None:
        k_words, k_query, k_key, k_value, k_output = jax.random.split(key, 5)
        self.words = initial_weights(k_words, (vocabulary_size, config.word), 1)
        # Attention starts even, so that a word means the same in every sentence before anything is learned.
        self.query = Linear(k_query, config.word, config.query, scale=0.1)
        self.key = Linear(k_key, config.word, config.query, scale=0.1)
        self.value = Linear(k_value, config.word, config.value)
        self.output = Linear(k_output, config.value, config.embedding)
        if config.fixed:
            # Codes that are never learned had better be well apart: words at right angles, and layers that keep angles.
            self.words = orthogonal(k_words, vocabulary_size, config.word) * config.word**0.5
            turn = orthogonal(k_value, config.word, config.value), orthogonal(k_output, config.value, config.embedding)
            self.value = eqx.tree_at(lambda layer: layer.weight, self.value, turn[0])
            self.output = eqx.tree_at(lambda layer: layer.weight, self.output, turn[1])

    def __call__(self, text: Int[Array, " n"]) -> Float[Array, " l"]:
        """Encode one sentence, padded with `PADDING`.

        How much two words attend to each other, and what each tells, is worked out once for the vocabulary, not for
        every sentence: of this nothing depends on where a word stands.
        """
        assert self.output.bias is not None
        is_word = text != PADDING
        affinity = self.query(self.words) @ self.key(self.words).T / self.query.weight.shape[1] ** 0.5
        told = self.value(self.words) @ self.output.weight
        attention = masked_softmax(affinity[text[:, None], text], is_word)
        heard = jnp.sum(jnp.where(is_word[:, None], attention, 0.0), axis=0) / jnp.maximum(jnp.sum(is_word), 1)
        # A sentence as a bag of words: the gradient of a product adds up nothing at scattered places.
        return heard @ jax.nn.one_hot(text, len(told)) @ told + self.output.bias
