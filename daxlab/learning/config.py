"""What a training run is made of, and the presets. Every default is the paper's (A.4.2) or says that it is ours."""

from __future__ import annotations

import hashlib
import json
import typing
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

from daxlab.agents.config import (
    CORES,
    RING_CORES,
    AgentConfig,
    LanguageConfig,
    MemoryConfig,
    TransformerConfig,
    VisionConfig,
)
from daxlab.agents.config import change as change
from daxlab.errors import DaxlabError, unknown
from daxlab.learning.losses import LossConfig, OptimiserConfig
from daxlab.levels import files, registry
from daxlab.levels.mixture import check_alike, shares
from daxlab.levels.spec import Level

NOT_LEARNING = ("steps", "log_steps", "save_minutes")
"""Fields that may differ between a checkpoint and the run that resumes it: they do not change what is learned."""


@dataclass(frozen=True)
class TrainConfig:
    """One run: a level, an agent, and how it learns."""

    level: str = "architecture_comparison/fast_map_three_objs"
    """Name of a level or of a mixture, or the file of one (of which what it says is kept, not the path)."""
    agent: AgentConfig = field(default_factory=AgentConfig)
    """The agent."""
    loss: LossConfig = field(default_factory=LossConfig)
    """Weights of the loss's terms, and the discount."""
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    """Adam's numbers."""
    rooms: int = 1024
    """Rooms side by side. Open in the paper (its actors ran apart from its learner); ours."""
    unroll: int = 128
    """Steps that each room plays between two visits of the learner."""
    minibatch: int = 64
    """Unrolls in one step of the optimiser ("batch size"); it must divide `rooms`."""
    clip: float = 0.0
    """Longest gradient (global norm); 0 leaves it as it is. Not in the paper."""
    decode_fraction: float = 1.0
    """Share of the steps whose observation is rebuilt, where the agent reconstructs: its dearest part."""
    steps: int = 1_000_000_000
    """Steps of the world to train for, over all rooms."""
    seed: int = 0
    """Of everything that is random: weights, rooms, actions, minibatches."""
    log_steps: int = 500_000
    """Steps between two lines of the log."""
    save_minutes: float = 5.0
    """Minutes between two checkpoints."""

    def __post_init__(self) -> None:
        """Say at once what cannot work."""
        object.__setattr__(self, "level", registry.portable(self.level))
        shares(self.weights, max(self.rooms, 1))
        check_alike(self.specs)
        for name in ("rooms", "unroll", "minibatch", "steps", "log_steps"):
            if getattr(self, name) < 1:
                raise DaxlabError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.rooms % self.minibatch:
            raise DaxlabError(
                f"minibatch is {self.minibatch}, which does not divide the {self.rooms} rooms; "
                f"try {_nearest_divisor(self.rooms, self.minibatch)}"
            )
        if not 0 < self.decode_fraction <= 1:
            raise DaxlabError(f"decode_fraction is {self.decode_fraction}; it must be above 0 and at most 1")
        if self.clip < 0 or self.save_minutes <= 0:
            raise DaxlabError(f"clip is {self.clip} and save_minutes {self.save_minutes}; neither may be below 0")
        if self.optimiser.decay_steps < 0:
            raise DaxlabError(f"decay_steps is {self.optimiser.decay_steps}; it must be 0 (no decay) or above")
        if self.optimiser.learning_rate <= 0 or not 0 <= self.loss.discount <= 1:
            raise DaxlabError(
                f"learning_rate is {self.optimiser.learning_rate} and discount {self.loss.discount}; "
                "the one must be above 0, the other in 0…1"
            )

    @property
    def weights(self) -> dict[Level, float]:
        """The levels to train on: one, or a mixture's."""
        return registry.weights(self.level)

    @property
    def spec(self) -> Level:
        """The level itself; of a mixture the first, which has the same actions and the same picture as the others."""
        return self.specs[0]

    @property
    def specs(self) -> tuple[Level, ...]:
        """Every level."""
        return tuple(self.weights)

    @property
    def title(self) -> str:
        """What is trained on, in a few words."""
        return self.spec.name if len(self.specs) == 1 else registry.find(self.level).name

    @property
    def chance(self) -> float:
        """Success of an agent that does as it is told with any object; of a mixture the mean by weight."""
        weights = self.weights
        return sum(level.chance * weight for level, weight in weights.items()) / sum(weights.values())

    @property
    def steps_per_update(self) -> int:
        """Steps of the world between two visits of the learner."""
        return self.rooms * self.unroll

    @property
    def updates(self) -> int:
        """Visits of the learner in the whole run."""
        return -(-self.steps // self.steps_per_update)

    @property
    def fingerprint(self) -> str:
        """Equal for two configs that learn the same thing in the same way."""
        learned = {name: value for name, value in differences(self).items() if name not in NOT_LEARNING}
        learned["level"] = [[level.facts, weight] for level, weight in self.weights.items()]
        return hashlib.sha256(json.dumps(learned, sort_keys=True).encode()).hexdigest()[:16]


def differences(config: Any) -> dict[str, Any]:
    """Where a config is not as its classes have it: a field that came later and is left as it is changes nothing."""
    found: dict[str, Any] = {}
    for part in fields(config):
        value = getattr(config, part.name)
        if is_dataclass(value):
            if inner := differences(value):
                found[part.name] = inner
        elif value != part.default:
            found[part.name] = value
    return found


def _nearest_divisor(number: int, wanted: int) -> int:
    return min((d for d in range(1, number + 1) if number % d == 0), key=lambda d: abs(d - wanted))


def paper() -> TrainConfig:
    """The paper's table, row by row."""
    return TrainConfig()


def _binding(memory: MemoryConfig) -> MemoryConfig:
    """The options of `dcem_match` that let it bind on the desk (docs/results.md says what each is for)."""
    return replace(
        memory,
        k=3,
        sharpness=64.0,
        selective_write=True,
        worded_only=True,
        skip_present=True,
        query_gain=0.0,
        match_cosine=True,
    )


def room() -> TrainConfig:
    """Ours for the full room on one GPU: differences to `paper` stand in docs/deviations.md."""
    return TrainConfig(
        agent=AgentConfig(
            core="dcem_match",
            # A narrow fovea that looks at every pixel: things are looked at from afar (docs/results.md, the full room).
            vision=VisionConfig(
                embedding=192, fovea=128, fovea_width=0.12, fovea_stride=1, fovea_root=True, dtype="bfloat16"
            ),
            language=LanguageConfig(word=160, value=160, embedding=160, fixed=True),
            # All that is seen while a name is heard, the newest first: who walks up to a thing sees it better.
            memory=replace(_binding(MemoryConfig(size=256, heads=1)), selective_write=False, k=8),
            reconstruction=False,
        ),
        # With more entropy it hardly looks around (docs/results.md, the full room).
        loss=LossConfig(policy=1.0, entropy=1e-3, reconstruction=0.1, discount=0.98),
        optimiser=OptimiserConfig(learning_rate=1e-3, beta1=0.9, beta2=0.99, epsilon=1e-6, decay_steps=40_000_000),
        rooms=1024,
        unroll=32,
        minibatch=128,
        clip=1.0,
        decode_fraction=0.25,
        steps=40_000_000,
        log_steps=1_000_000,
        save_minutes=2.0,
    )


def desk() -> TrainConfig:
    """Ours for the desk: small pictures, a small network, minutes on two CPU cores."""
    return TrainConfig(
        level="desk/fast_map_three_objs",
        agent=AgentConfig(
            core="dcem_match",
            vision=VisionConfig(
                channels=(8, 16, 32), blocks=(0, 1, 1), strides=(3, 2, 2), convolutions=1, embedding=96, fovea=80
            ),
            language=LanguageConfig(word=128, query=16, value=128, embedding=128, fixed=True),
            memory=_binding(MemoryConfig(size=64, heads=1, query=32, value=64)),
            latent=128,
            lstm=128,
            policy=64,
            value=64,
            transformer=TransformerConfig(layers=2, width=64, heads=4, head=16, mlp=64),
            reconstruction=False,
            standardise=True,
        ),
        loss=LossConfig(policy=1.0, entropy=3e-3, reconstruction=0.1, discount=0.98),
        optimiser=OptimiserConfig(learning_rate=1e-3, beta1=0.9, beta2=0.99, epsilon=1e-6),
        rooms=128,
        unroll=32,
        minibatch=32,
        clip=1.0,
        steps=3_000_000,
        log_steps=50_000,
        save_minutes=1.0,
    )


PRESETS = {"paper": paper, "room": room, "desk": desk}


def preset(name: str) -> TrainConfig:
    """The preset of that name."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return PRESETS[name]()


def with_agent(config: TrainConfig, name: str) -> TrainConfig:
    """The config with another agent; options that need an external memory are dropped where it has none."""
    if name not in CORES:
        raise unknown("agent", name, CORES)
    agent = config.agent
    if name != "dcem":
        agent = change(agent, memory__query_start="drawn")
    if name not in RING_CORES:
        agent = change(agent, memory__selective_write=False, memory__write_gradient=False, novelty__enabled=False)
    return replace(config, agent=replace(agent, core=name))


def to_json(config: TrainConfig) -> dict[str, Any]:
    """The config as plain JSON."""
    return asdict(config)


def from_json(data: dict[str, Any], kind: type[Any] = TrainConfig) -> Any:
    """The config that `to_json` made it from."""
    if files.is_file(str(data.get("level", ""))):
        # It may come with someone's weights, which must not be able to run code.
        raise DaxlabError(f"level is {data['level']!r}; a saved config names or holds its level, but no file")
    hints = typing.get_type_hints(kind)
    values = {}
    for name, value in data.items():
        if name not in hints:
            raise unknown(f"field of {kind.__name__}", name, hints)
        hint = hints[name]
        if is_dataclass(hint):
            value = from_json(value, typing.cast("type[Any]", hint))
        values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)
