"""What an agent is made of. Each default is a row of the paper's hyperparameter table (A.4.2) or says it is ours."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from daxlab.errors import DaxlabError, unknown

CORES = ("lstm", "dnc", "dcem", "dcem_match", "gtrxl")
"""The agents by name. The first, second, third and fifth are the paper's; `dcem_match` is ours."""

RING_CORES = ("dnc", "dcem", "dcem_match")
"""Those with an external memory that is written row by row."""

Precision = Literal["float32", "bfloat16"]


def _positive(config: object, *names: str) -> None:
    for name in names:
        if getattr(config, name) < 1:
            raise DaxlabError(f"{type(config).__name__}.{name} is {getattr(config, name)}; it must be at least 1")


def _precision(config: object, name: str) -> None:
    given = getattr(config, name)
    if given not in ("float32", "bfloat16"):
        raise unknown(f"{type(config).__name__}.{name}", str(given), ("float32", "bfloat16"))


@dataclass(frozen=True)
class VisionConfig:
    """The ResNet that reads the picture, and its transpose that draws it again."""

    channels: tuple[int, ...] = (16, 32, 32)
    """Channels of each section of the ResNet."""
    blocks: tuple[int, ...] = (2, 2, 2)
    """Residual blocks in each section."""
    strides: tuple[int, ...] = (2, 2, 2)
    """Stride of the convolution that opens each section."""
    convolutions: int = 2
    """Convolutional layers in each residual block."""
    kernel: int = 3
    """Width and height of every convolution."""
    embedding: int = 256
    """Size of the visual embedding v, the layer after the ResNet."""
    fovea: int = 0
    """How many of v's features are the fovea's: colours in the middle of the view, past the ResNet (ours)."""
    fovea_width: float = 0.2
    """How far the fovea sees to each side, as a share of the picture's height."""
    fovea_stride: int = 0
    """The fovea looks at every so manyth pixel; 0: at 16×16 of them, and at every other one at most."""
    fovea_root: bool = False
    """Take the root of what the fovea's units tell, so that a little of a colour counts."""
    dtype: Precision = "float32"
    """Type the convolutions compute in, forwards and backwards; weights and outputs are float32 in any case."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        if not len(self.channels) == len(self.blocks) == len(self.strides) >= 1:
            raise DaxlabError(
                f"vision.channels, blocks and strides must have one entry for each section, "
                f"but have {len(self.channels)}, {len(self.blocks)} and {len(self.strides)}"
            )
        _positive(self, "convolutions", "kernel", "embedding")
        if not 0 < self.fovea_width <= 1 or self.fovea_stride < 0:
            raise DaxlabError(
                f"vision.fovea_width is {self.fovea_width} and fovea_stride {self.fovea_stride}; the one must be above "
                "0 and at most 1, the other 0 or above"
            )
        if not 0 <= self.fovea < self.embedding:
            raise DaxlabError(
                f"vision.fovea is {self.fovea}; it must be at least 0 and leave the ResNet some of the "
                f"{self.embedding} features of vision.embedding"
            )
        _precision(self, "dtype")


@dataclass(frozen=True)
class LanguageConfig:
    """The self-attention encoder of the text, and the LSTM that spells it again."""

    word: int = 32
    """Size of a word's embedding."""
    query: int = 16
    """Size of the self-attention's keys and queries."""
    value: int = 16
    """Size of the self-attention's values."""
    embedding: int = 32
    """Size of the language embedding l, the encoder's output."""
    decoder: int = 32
    """Hidden size of the language decoder."""
    fixed: bool = False
    """Leave the encoder as it was drawn: random sentence codes, well apart, that no gradient moves (ours)."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        _positive(self, "word", "query", "value", "embedding", "decoder")


@dataclass(frozen=True)
class MemoryConfig:
    """The external memory of `dnc`, `dcem` and `dcem_match`; `size` is also the window of `gtrxl`."""

    size: int = 1024
    """Rows of the memory, M: when it is full the oldest is overwritten. The paper uses 1024, 100, 50 and 20."""
    k: int = 8
    """Rows returned for each query. Open in the paper; ours until measured (RMA uses 50)."""
    heads: int = 3
    """Read heads, n."""
    query: int = 256
    """Key and query size of the self-attention that aggregates the k rows (dcem)."""
    value: int = 256
    """Value size of the self-attention that aggregates the k rows (dcem)."""
    sharpness: float = 1.0
    """dcem normalises similarities by softmax(sharpness · s); 1 is the plain softmax (the dnc has its strength β)."""
    selective_write: bool = False
    """Write only for `window` steps after the text changed (A.1.1), not at every step."""
    window: int = 3
    """Steps that are written after a change of the text, w."""
    query_start: Literal["drawn", "heard"] = "drawn"
    """How `dcem`'s q(v, l, h) begins: as drawn at random, or with l on top, what is heard. It is linear, so either can
    be learned from either. Open in the paper."""
    query_gain: float = 1.0
    """Scale of the learned part of `dcem_match`'s query, q = l + gain · q(v, l, h); at 0 the query is what is heard."""
    match_cosine: bool = False
    """`dcem_match` also reads cos(v, m̂), the match as one number a head."""
    worded_only: bool = False
    """Write only while something is heard: a row without words has no key to be found by (ours)."""
    skip_present: bool = False
    """Do not read rows whose text is the one heard now: they say nothing new (dcem and dcem_match; ours)."""
    write_gradient: bool = False
    """Let gradients flow from a read into the embeddings that were written earlier in the same unroll."""
    dtype: Precision = "float32"
    """Type the rows are stored in. bfloat16 halves the memory; rows are float32 again when read."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        _positive(self, "size", "k", "heads", "query", "value", "window")
        _precision(self, "dtype")
        if self.k > self.size:
            raise DaxlabError(
                f"memory.k is {self.k} but the memory has only {self.size} rows; k must be at most memory.size"
            )
        if self.query_start not in ("drawn", "heard"):
            raise unknown("memory.query_start", self.query_start, ("drawn", "heard"))
        if self.sharpness <= 0:
            raise DaxlabError(f"memory.sharpness is {self.sharpness}; it must be above 0")


@dataclass(frozen=True)
class TransformerConfig:
    """The gated TransformerXL of section 3; its memory's size is `memory.size`."""

    layers: int = 4
    """Layers."""
    width: int = 256
    """Principal embedding size."""
    heads: int = 8
    """Parallel attention heads."""
    head: int = 32
    """Query, key and value size of each head."""
    mlp: int = 256
    """Hidden size of the position-wise layer. Open in the paper; 256 keeps the agent comparable to dcem."""
    gate_bias: float = 2.0
    """Initial bias of the GRU gates: at 2 each layer starts close to the identity (Parisotto et al.)."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        _positive(self, "layers", "width", "heads", "head", "mlp")
        if self.width % 2:
            raise DaxlabError(f"transformer.width is {self.width}; it must be even, for sine and cosine positions")


@dataclass(frozen=True)
class NoveltyConfig:
    """NGU intrinsic reward on the columns of the memory (A.4.3)."""

    enabled: bool = False
    """Add the intrinsic reward to the environment's."""
    language: float = 1e-3
    """λ of the keys column (dcem): novelty of what is heard."""
    vision: float = 3e-5
    """λ of the values column (dcem): novelty of what is seen."""
    latent: float = 1e-3
    """λ of the single column of the dnc. Open in the paper; ours."""
    neighbours: int = 10
    """Nearest rows that the estimate uses."""
    c: float = 1e-3
    """Smoothing constant of inverse distance and surprise."""
    epsilon: float = 1e-4
    """Smoothing constant of the similarity kernel."""
    rho_min: float = 8e-3
    """Cluster distance cut-off."""
    s_max: float = 2.0
    """Similarity from which on the reward is 0."""
    average: Literal["rho", "distance"] = "rho"
    """What the lifetime average is of: the ρ_i themselves, as the paper says, or the squared distances, as in NGU."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        _positive(self, "neighbours")
        if self.average not in ("rho", "distance"):
            raise unknown("novelty.average", self.average, ("rho", "distance"))


@dataclass(frozen=True)
class AgentConfig:
    """One agent: its core, and the sizes of everything around it."""

    core: str = "dcem"
    """Which core memory: lstm, dnc, dcem, dcem_match or gtrxl."""
    vision: VisionConfig = field(default_factory=VisionConfig)
    """The picture's encoder and decoder."""
    language: LanguageConfig = field(default_factory=LanguageConfig)
    """The text's encoder and decoder."""
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    """The external memory."""
    transformer: TransformerConfig = field(default_factory=TransformerConfig)
    """The sizes of gtrxl."""
    novelty: NoveltyConfig = field(default_factory=NoveltyConfig)
    """Intrinsic reward from the memory."""
    latent: int = 256
    """Size of the latent representation e."""
    lstm: int = 512
    """Hidden size of the core LSTM, h."""
    policy: int = 256
    """Size of the policy's hidden layer."""
    value: int = 256
    """Size of the value's hidden layer."""
    reconstruction: bool = True
    """Rebuild picture and text from e (the paper's "+ R")."""
    standardise: bool = False
    """Standardise the visual codes wherever they enter the core (ours; dcem_match does so in any case)."""

    @property
    def standardised(self) -> bool:
        """Whether the core gets standardised visual codes."""
        return self.standardise or self.core == "dcem_match"

    def __post_init__(self) -> None:
        """Check that the core exists and can do what is asked of it."""
        if self.core not in CORES:
            raise unknown("agent", self.core, CORES)
        _positive(self, "latent", "lstm", "policy", "value")
        for option, wanted in (
            ("memory.selective_write", self.memory.selective_write),
            ("memory.write_gradient", self.memory.write_gradient),
            ("novelty.enabled", self.novelty.enabled),
        ):
            if wanted and self.core not in RING_CORES:
                raise DaxlabError(
                    f"{option} needs an agent with an external memory ({', '.join(RING_CORES)}), not {self.core}"
                )
        if self.memory.query_start != "drawn" and self.core != "dcem":
            raise DaxlabError(
                f"memory.query_start is {self.memory.query_start!r}, which is of dcem alone, not of {self.core}"
                + (", whose query starts from what is heard in any case" if self.core == "dcem_match" else "")
            )
        if self.novelty.enabled and self.memory.worded_only:
            raise DaxlabError(
                "novelty.enabled needs memory.worded_only=false: silence that is never written is new at every step"
            )


def change(config: Any, **options: Any) -> Any:
    """A config with some fields changed; `__` steps into a part: `change(config, lstm=64, memory__size=100)`."""
    known = [f.name for f in fields(config)]
    direct: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for name, value in options.items():
        part, _, rest = name.partition("__")
        if part not in known:
            raise unknown(f"option of {type(config).__name__}", name, known)
        if rest:
            nested.setdefault(part, {})[rest] = value
        else:
            direct[part] = value
    for part, changes in nested.items():
        if not is_dataclass(getattr(config, part)):
            raise DaxlabError(f"{part} has no parts, so there is no {part}.{next(iter(changes))}")
        direct[part] = change(direct.get(part, getattr(config, part)), **changes)
    return replace(config, **direct)
