"""The layers of an agent as `work` counts them, from its config alone."""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp

from daxlab.agents.config import AgentConfig, LanguageConfig, TransformerConfig, VisionConfig
from daxlab.agents.vision import fovea_pixels, section_sizes
from daxlab.bench.work import FLOAT, Layer, convolution, linear, product
from daxlab.levels.env import Env


def agent_layers(config: AgentConfig, env: Env, length: int) -> dict[str, list[Layer]]:
    """The layers of each part of an agent."""
    e, _ = latent_and_state(config)
    layers = {
        "encoder": encoder(config.vision, env.height, env.width),
        "language": language(config.language, env.vocabulary_size, env.text_length),
        "core": core(config, length),
        "heads": heads(config, env.num_actions),
    }
    if config.reconstruction:
        layers["decoder"] = [
            *image_decoder(config.vision, e, env.height, env.width),
            *language_decoder(config.language, e, env.vocabulary_size, env.text_length),
        ]
    return layers


def row_bytes(config: AgentConfig) -> tuple[int, ...]:
    """Bytes of one row of the memory, column by column."""
    widths = {
        "lstm": (),
        "dnc": (config.latent,),
        "gtrxl": config.transformer.layers * (config.transformer.width,),
    }.get(config.core, (config.language.embedding, config.vision.embedding))
    return tuple(_number(config) * width for width in widths)


def residuals(config: VisionConfig, size: tuple[int, int], channels: int, blocks: int, number: int) -> list[Layer]:
    """The residual blocks of one section."""
    one = convolution(size, config.kernel, (channels, channels), 1, number)
    skip = Layer(0, number * size[0] * size[1] * channels)
    return blocks * (config.convolutions * [one] + [skip])


def encoder(config: VisionConfig, height: int, width: int) -> list[Layer]:
    """The ResNet and the layer after it."""
    number = jnp.dtype(config.dtype).itemsize
    sizes = section_sizes(config, height, width)
    layers: list[Layer] = []
    before = 3
    for i, (channels, blocks, stride) in enumerate(zip(config.channels, config.blocks, config.strides, strict=True)):
        # No gradient is wanted of the picture itself.
        layers.append(convolution(sizes[i], config.kernel, (before, channels), stride, number, gradients=2 if i else 1))
        layers += residuals(config, sizes[i + 1], channels, blocks, number)
        before = channels
    h, w = sizes[-1]
    layers.append(linear(h * w * before, config.embedding - config.fovea))
    return [*layers, fovea(config, height)] if config.fovea else layers


def fovea(config: VisionConfig, height: int) -> Layer:
    """The colours in the middle of the view, on a grid of pixels."""
    half, stride = fovea_pixels(config, height)
    pixels = (-(-2 * half // stride)) ** 2
    return Layer(2 * pixels * 4 * config.fovea, 3 * pixels + FLOAT * config.fovea, 4 * config.fovea, gradients=1)


def image_decoder(config: VisionConfig, latent: int, height: int, width: int) -> list[Layer]:
    """The encoder's sections in reverse."""
    number = jnp.dtype(config.dtype).itemsize
    sizes = section_sizes(config, height, width)
    h, w = sizes[-1]
    layers = [linear(latent, h * w * config.channels[-1])]
    for i in reversed(range(len(config.channels))):
        out = (config.channels[i - 1] if i else 3) * config.strides[i] ** 2
        layers += residuals(config, sizes[i + 1], config.channels[i], config.blocks[i], number)
        layers.append(convolution(sizes[i + 1], config.kernel, (config.channels[i], out), 1, number))
    return layers


def language(config: LanguageConfig, vocabulary: int, length: int) -> list[Layer]:
    """Word embeddings and one self-attention layer: tables of the vocabulary, then sentences as bags of words."""
    tables = [
        Layer(0, FLOAT * vocabulary * config.word, vocabulary * config.word),
        linear(config.word, config.query, rows=vocabulary),
        linear(config.word, config.query, rows=vocabulary),
        linear(config.word, config.value, rows=vocabulary),
        linear(config.value, config.embedding, rows=vocabulary),
        product(vocabulary, config.query, vocabulary),
    ]
    return [
        *(replace(table, once=True) for table in tables),
        product(1, length, vocabulary, gradients=1),
        product(1, vocabulary, config.embedding),
    ]


def language_decoder(config: LanguageConfig, latent: int, vocabulary: int, length: int) -> list[Layer]:
    """The LSTM that spells."""
    recurrent = linear(config.decoder, 4 * config.decoder, bias=False)
    again = Layer(recurrent.operations, recurrent.bytes)
    return [
        linear(latent, 4 * config.decoder),
        recurrent,
        *(length - 1) * [again],
        linear(config.decoder, vocabulary, rows=length),
    ]


def heads(config: AgentConfig, actions: int) -> list[Layer]:
    """Policy and value."""
    e, h = latent_and_state(config)
    return [
        linear(e + h, config.policy),
        linear(config.policy, actions),
        linear(e + h, config.value),
        linear(config.value, 1),
    ]


def latent_and_state(config: AgentConfig) -> tuple[int, int]:
    """Sizes of e and h."""
    return (config.transformer.width,) * 2 if config.core == "gtrxl" else (config.latent, config.lstm)


def core(config: AgentConfig, length: int) -> list[Layer]:
    """The core memory for one of `length` steps that are done together: 1 when acting, an unroll when learning."""
    if config.core == "gtrxl":
        return transformer(config, length)
    x = config.vision.embedding + config.language.embedding
    e, h = config.latent, config.lstm
    layers = [
        linear(x, e),
        linear(h, e, bias=False),
        linear(e, 4 * h),
        linear(h, 4 * h, bias=False),
    ]
    if config.core == "lstm":
        return layers
    return layers + (dnc(config) if config.core == "dnc" else dcem(config, length))


def dnc(config: AgentConfig) -> list[Layer]:
    """What the DNC does beside its LSTM."""
    n, k, e = config.memory.heads, config.memory.k, config.latent
    return [
        linear(n * e, e, bias=False),
        linear(config.lstm, n * e),
        linear(config.lstm, n),
        *lookup(config, e, config.memory.size, 1),
        product(n, e, k),
        product(n, k, e),
        Layer(0, _number(config) * (n * k * e + e), gradients=0),
    ]


def dcem(config: AgentConfig, length: int) -> list[Layer]:
    """What DCEM does beside its LSTM."""
    memory, v, l = config.memory, config.vision.embedding, config.language.embedding  # noqa: E741
    n, k, match = memory.heads, memory.k, config.core == "dcem_match"
    # An unroll's rows and the ring's are laid side by side once; each of its steps then looks through all of them.
    rows = memory.size if length == 1 else memory.size + length
    copied = l + v if length == 1 else 2 * rows * (l + v) / length
    return [
        linear(v + l, n * l),
        linear(config.lstm, n * l, bias=False),
        *lookup(config, l, rows, length),
        *([Layer(2 * rows * l, 0, gradients=0)] if memory.skip_present else []),
        product(n, l, k),
        # W_q and W_k are multiplied with each other first.
        Layer(2 * v * memory.query * v, 0, 2 * v * memory.query, once=True),
        Layer(2 * n * k * v * v, FLOAT * 2 * n * k * v),
        product(n * k, v, k),
        product(n, k, v),
        linear(v, memory.value, rows=n, bias=False),
        linear(n * (memory.value + v * match), config.latent, bias=False),
        *([linear(n, config.latent, bias=False)] if match and memory.match_cosine else []),
        Layer(0, _number(config) * (n * k * (v + l) + copied), gradients=0),
    ]


def lookup(config: AgentConfig, width: int, rows: int, length: int) -> list[Layer]:
    """Every key against every head's query and, once for `length` steps, against itself for its own length.

    Which rows are chosen has no gradient.
    """
    operations = 2 * rows * width * (config.memory.heads + 1 / length)
    return [Layer(operations, _number(config) * width * rows + FLOAT * rows, gradients=0)]


def transformer(config: AgentConfig, length: int) -> list[Layer]:
    """The gated TransformerXL."""
    sizes, x = config.transformer, config.vision.embedding + config.language.embedding
    c = sizes.width
    gate = Layer(2 * 6 * c * c, FLOAT * 9 * c, 6 * c * c + c)
    layer = [
        *attention(sizes, config.memory.size, length, _number(config)),
        Layer(0, 0, 2 * 2 * c),
        linear(c, sizes.mlp),
        linear(sizes.mlp, c),
        gate,
        gate,
    ]
    return [linear(x, c), *sizes.layers * layer]


def attention(config: TransformerConfig, size: int, length: int, number: int) -> list[Layer]:
    """Relative attention of `length` steps to the `size` before them and to each other."""
    c, wide = config.width, config.heads * config.head
    layers = [
        linear(c, wide, bias=False),
        Layer(2 * (size + 1) * c * wide, 0, c * wide + 2 * wide, gradients=1, once=True),
        Layer(2 * wide * (size + 1), 0),
        linear(wide, c),
        Layer(0, 2 * FLOAT * config.heads * (size + length)),
    ]
    for rows, bytes_each in ((size, number), (length, FLOAT)):
        # Either each row is projected once for the unroll, or each step's query (or read-out) is: the cheaper one.
        rows_first = rows * c * wide / length + rows * wide
        step_first = c * wide + config.heads * rows * c
        # Once for the keys and once for the values.
        layers += 2 * [Layer(2 * min(rows_first, step_first), bytes_each * rows * c / length)]
    return [*layers, Layer(0, 0, 2 * c * wide)]


def _number(config: AgentConfig) -> int:
    return jnp.dtype(config.memory.dtype).itemsize
