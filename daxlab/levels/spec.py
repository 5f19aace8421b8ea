"""A level is data: this one frozen spec says all that `daxlab.levels.episode` needs to play it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from daxlab.assets.catalog import FURNITURE_NAMES, HELDOUT_OBJECTS, TRAIN_OBJECTS
from daxlab.assets.categories import CATEGORIES
from daxlab.errors import DaxlabError, unknown
from daxlab.levels.vocabulary import NONSENSE, WORDS
from daxlab.world.control import ACTIONS, action_table
from daxlab.world.state import Physics

DISCOVERY, INSTRUCTION, DISTRACTOR = 0, 1, 2
"""Kinds of phases: names are heard; one of them is acted on, which ends the episode; a task that only takes time."""
RELATIONS = ("on", "in", "near")
"""How an object can be put to furniture."""
SETTINGS = ("room", "desk", "corridor")
"""Where an episode takes place."""
CHOICE_WIDTH = 1.2
"""Of the room at a corridor's end, for each object in it, metres."""
DESK_SLOTS = 3
"""Most objects that stand side by side on the desk; of more, the table goes all round the agent."""
BESIDE_DESK = ("box", "tray")
"""Furniture that is small enough to stand beside an agent at its desk."""
RING_SLOTS = 8
"""Most objects round the agent."""


@dataclass(frozen=True)
class Level:
    """An episode: discovery (hear each object's name), then instruction (act on one of the names)."""

    name: str
    """As in the release where it has one: ``group/level``."""
    objects: tuple[str, ...] = TRAIN_OBJECTS
    """The global set G that an episode's objects are drawn from, without repeats."""
    exemplars: int = 0
    """0: `objects` are everyday things. Else they are classes of `daxlab.assets.categories`, and an episode draws one
    of this many exemplars of each class that it draws."""
    extension: bool = False
    """The instruction phase has other exemplars of the same classes."""
    num_objects: int = 3
    """N, the objects in the room."""
    choices: int = 0
    """Of a corridor: how many of the N are in the room at its end, the named one among them. 0: all."""
    regime: Literal["fast", "slow"] = "fast"
    """fast: made-up names, dealt anew in every episode. slow: each object's own permanent name."""
    two_phase: bool = True
    """False: no discovery, the instruction comes at once (the paper's conventional tasks)."""
    rounds: int = 1
    """Discovery phases, each with objects and names of its own; the instruction is about one of them."""
    distractors: int = 0
    """Distractor phases after each discovery phase: lift one of three other objects by its permanent name."""
    words: tuple[str, ...] = NONSENSE
    """The made-up names of the fast regime."""
    furniture: tuple[str, ...] = ()
    """Immovable things that stand in the room."""
    goals: tuple[tuple[str, str], ...] = ()
    """Where the named object is to be put: pairs like ("on", "bed"), one drawn in every episode. None: it is lifted."""
    setting: Literal["room", "desk", "corridor"] = "room"
    """room: objects stand on the floor. desk: they stand on a desk before an agent that only turns its head, or all
    round it if they are many; furniture stands beside it. corridor: they are met one after another and collected by
    walking into them; so is the named one, in the room at the end."""
    named_before: bool = False
    """Of a corridor: an object's name is given while the agent walks up to it, not once it is collected."""
    room: tuple[float, float, float] = (5.0, 5.0, 2.6)
    """Width, depth and height, metres."""
    gap: float = 0.5
    """Least free space between things when they are placed, metres."""
    shaping: float = 0.1
    """Reward for the first fixation of each object in the discovery phase; in a corridor, for collecting it."""
    stakes: float = 0.0
    """0: reward 1 for the right object and none for a wrong one. Else: so much for the right one, and the loss of as
    much for a wrong one."""
    fixation_range: float = 2.5
    """The object that the centre ray hits is fixated (and named) within this distance, metres."""
    linger: int = 10
    """Steps that the discovery phase goes on after the last object was named, so that its name can be heard; in a
    corridor, steps that a name is given from when its object is collected."""
    discovery_steps: int = 300
    """Longest discovery phase: 30 s at ten steps a second."""
    distractor_steps: int = 300
    """Longest distractor phase."""
    episode_steps: int = 1200
    """Longest episode: 120 s at ten steps a second."""
    lift_height: float = 0.25
    """A lifted object's lowest point is this far above where objects stand, metres."""
    lift_steps: int = 3
    """Consecutive steps that it must be held there, or lie where it was put."""
    near: float = 0.4
    """An object is near furniture with at most this much space between them, metres."""
    actions: tuple[str, ...] = ACTIONS
    """The discrete actions, by the paper's names."""
    picture: tuple[int, int] = (96, 72)
    """Width and height of the agent's view, pixels."""
    physics: Physics = field(default_factory=Physics)
    """Strengths, sizes and reach."""

    def __post_init__(self) -> None:
        known = tuple(CATEGORIES) if self.exemplars else (*TRAIN_OBJECTS, *HELDOUT_OBJECTS)
        for item in self.objects:
            if item not in known:
                raise unknown("class" if self.exemplars else "object", item, known)
        for item in self.furniture:
            if item not in FURNITURE_NAMES:
                raise unknown("furniture", item, FURNITURE_NAMES)
        for relation, item in self.goals:
            if relation not in RELATIONS:
                raise unknown("relation", relation, RELATIONS)
            if item not in self.furniture:
                raise DaxlabError(f"goals has {item!r}, which is not in the room; furniture is {self.furniture}")
        if self.regime not in ("fast", "slow"):
            raise unknown("regime", self.regime, ("fast", "slow"))
        if self.setting not in SETTINGS:
            raise unknown("setting", self.setting, SETTINGS)
        for word in self.words:
            if word not in WORDS[1:]:
                raise unknown("word", word, WORDS[1:])
        self._check_numbers()
        self._check_physics()
        if self.exemplars or self.extension:
            self._check_exemplars()
        if self.has_agenda:
            self._check_agenda()
        self._check_corridor()
        self._check_desk()
        action_table(self.actions)

    def _check_numbers(self) -> None:
        fits = self.fits
        most = min(fits, len(set(self.objects)), len(set(self.words)) if self.regime == "fast" else fits)
        if not 1 <= self.num_objects <= most:
            raise DaxlabError(
                f"num_objects is {self.num_objects}; {self.name!r} allows 1…{most} "
                f"(the {self.setting} holds {fits}, G has {len(set(self.objects))}, words {len(set(self.words))})"
            )
        if min(self.picture) < 1:
            raise DaxlabError(f"picture is {self.picture[0]}×{self.picture[1]}; both sides must be at least 1 pixel")
        if min(self.discovery_steps, self.linger, self.lift_steps) < 1 or self.episode_steps <= self.discovery_steps:
            raise DaxlabError(
                "steps must be at least 1 and episode_steps more than discovery_steps; got "
                f"discovery_steps={self.discovery_steps}, linger={self.linger}, lift_steps={self.lift_steps}, "
                f"episode_steps={self.episode_steps}"
            )

    def _check_physics(self) -> None:
        physics = self.physics
        if min(physics.substeps, physics.passes) < 1 or physics.step_seconds <= 0 or not 0 <= physics.keep < 1:
            raise DaxlabError(
                "physics needs substeps and passes of at least 1, step_seconds above 0 and keep in 0…1, not 1; got "
                f"substeps={physics.substeps}, passes={physics.passes}, step_seconds={physics.step_seconds}, "
                f"keep={physics.keep}"
            )

    def _check_exemplars(self) -> None:
        if self.exemplars < 0 or (self.extension and (self.exemplars < 2 or not self.two_phase)):
            raise DaxlabError(
                "exemplars must be 0 or more, and extension needs two of them and two phases; got "
                f"exemplars={self.exemplars}, extension={self.extension}, two_phase={self.two_phase}"
            )
        if self.has_agenda:
            raise DaxlabError(f"rounds and distractors need everyday objects; {self.name!r} has exemplars of classes")

    def _check_agenda(self) -> None:
        if min(self.rounds, self.distractors + 1, self.distractor_steps) < 1:
            raise DaxlabError(
                "rounds and distractor_steps must be at least 1 and distractors at least 0; got "
                f"rounds={self.rounds}, distractor_steps={self.distractor_steps}, distractors={self.distractors}"
            )
        if self.goals or not self.two_phase or self.regime != "fast":
            raise DaxlabError(f"rounds and distractors need a two-phase fast level without goals; {self.name!r} is not")
        objects = self.num_objects * (self.rounds + (self.distractors > 0))
        words = self.num_objects * self.rounds
        if len(self.objects) < objects or len(self.words) < words:
            raise DaxlabError(
                f"rounds is {self.rounds}: that needs {objects} objects and {words} words; "
                f"{self.name!r} has {len(self.objects)} and {len(self.words)}"
            )

    def _check_corridor(self) -> None:
        if self.setting != "corridor":
            if self.choices or self.named_before:
                raise DaxlabError(f"choices and named_before are of corridors; the setting of {self.name!r} is not one")
            return
        if self.goals or self.furniture or self.has_agenda or not self.two_phase:
            raise DaxlabError(
                f"a corridor has two phases and no furniture, goals or more rounds; {self.name!r} is not so"
            )
        most = min(self.num_objects, int(self.room[0] / CHOICE_WIDTH))
        if not 1 <= self.num_choices <= most:
            raise DaxlabError(
                f"choices is {self.choices}; {self.name!r} allows 1…{most} (or 0 for all {self.num_objects} objects): "
                f"each needs {CHOICE_WIDTH} m of the room's width"
            )

    def _check_desk(self) -> None:
        if self.setting != "desk" or not self.furniture:
            return
        if not set(self.furniture) <= set(BESIDE_DESK) or len(self.furniture) > 2 or self.num_objects > DESK_SLOTS:
            raise DaxlabError(
                f"beside a desk with 1…{DESK_SLOTS} objects there is place for two of {', '.join(BESIDE_DESK)}; "
                f"{self.name!r} has {self.num_objects} objects and {', '.join(self.furniture)}"
            )

    @property
    def facts(self) -> dict[str, Any]:
        """All that is on, for comparison with later days: a new field that is off changes nothing."""
        return {name: value for name, value in asdict(self).items() if value}

    @property
    def fits(self) -> int:
        """Most objects that there is place for: one a square metre leaves the agent a way between them."""
        return RING_SLOTS if self.setting == "desk" else int(self.room[0] * self.room[1])

    @property
    def has_agenda(self) -> bool:
        """Whether there are more phases than discovery and instruction."""
        return (self.rounds, self.distractors) != (1, 0)

    @property
    def chance(self) -> float:
        """Success of an agent that does what it is told with an object at random."""
        return 1.0 / self.num_choices

    @property
    def num_choices(self) -> int:
        """Objects that the instruction is given among."""
        return self.choices or self.num_objects

    @property
    def task(self) -> str:
        """What the instruction asks for, in words."""
        if self.setting == "corridor":
            return "go to"
        return "put " + ", ".join(f"{relation} {item}" for relation, item in self.goals) if self.goals else "lift"
