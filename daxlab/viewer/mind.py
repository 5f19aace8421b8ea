"""A frame of a film of a trained agent: the view, and beside it what the agent makes of it and what it remembers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from daxlab.viewer.page import BLUE, DIM, INK, PAPER, STRIP, Colour, Page, Shot, fit

WIDTH, VIEW_WIDTH, VIEW_HEIGHT = 960, 640, 408
"""Units of the frame's width, and of the view in it."""
TOP = VIEW_HEIGHT + STRIP
"""Units above the memory; an agent without one has no more."""
MEMORY = 170
"""Units of the memory's own height."""
PLACES = 12
"""Views of the memory that stand side by side."""
MOST_ACTIONS = 8
"""Actions whose probabilities are drawn; of more, the likeliest."""

_GROUND, _TRACK, _LIGHT, _UNLIT = (34, 38, 46), (52, 57, 67), (255, 208, 48), (62, 68, 80)


@dataclass(frozen=True)
class Thought:
    """What an agent makes of one state."""

    rgb: UInt8[np.ndarray, "h w 3"]
    """The picture it sees."""
    probabilities: Float[np.ndarray, " a"]
    """Of each action."""
    action: int
    """The one it takes; -1 where the episode is over."""
    value: float
    """The reward that it expects from here on, discounted."""
    shares: dict[int, float]
    """By step of the episode, the share of all that is read now which was written then."""
    held: frozenset[int] | None
    """Steps of the episode whose rows the memory holds after this one; None for an agent without a memory."""


@dataclass(frozen=True)
class Memory:
    """A view that the memory holds."""

    step: int
    """When it was written."""
    rgb: UInt8[np.ndarray, "h w 3"]
    text: str
    share: float
    """How much of what is read now is it."""


@dataclass(frozen=True)
class Moment:
    """One frame."""

    shot: Shot
    thought: Thought
    memories: tuple[Memory | None, ...]
    """One for each place of the strip, the same place throughout the episode; None while the memory has it not."""
    written: int
    """Views that the memory holds, also those that have no place."""


def draw(view: Image.Image, moment: Moment, actions: Sequence[str], width: int, height: int) -> Image.Image:
    """The frame of a moment; `view` is the large picture."""
    page, shot = Page(view, width, height, width / WIDTH), moment.shot
    page.sight(shot)
    page.corner(shot)
    page.words(shot)
    if shot.ended:
        page.outcome(shot)
    _panel(page, moment.thought, actions)
    if moment.thought.held is not None:
        _strip(page, moment)
    return page.picture


def _panel(page: Page, thought: Thought, actions: Sequence[str]) -> None:
    """What the agent sees, how likely it is to do what, and what it expects, at the right."""
    px, left, right = page.px, page.width + page.px(20), page.picture.width - page.px(20)
    page.pen.rectangle((page.width, 0, page.picture.width, px(TOP)), fill=_GROUND)
    seen = fit(Image.fromarray(thought.rgb), px(192), px(192))
    page.say("what the agent sees", left, px(20), 14, DIM)
    page.framed(seen, left, px(36), px(2), PAPER)
    page.say("value", right, px(20), 14, DIM, "rm")
    page.say(f"{round(thought.value, 2) + 0.0:.2f}", right, px(48), 26, PAPER, "rm")
    for i, words in enumerate(("the reward", "it expects")):
        page.say(words, right, px(74 + 15 * i), 12, DIM, "rm")
    page.say("what it does now", left, px(258), 14, DIM)
    for i, action in enumerate(_shown(thought)):
        taken = action == thought.action
        _bar(page, px(282 + 23 * i), actions[action], float(thought.probabilities[action]), taken)


def _shown(thought: Thought) -> list[int]:
    """The actions that have a bar: all of few, in their order; of many the likeliest, and the one taken."""
    order = np.argsort(-thought.probabilities, kind="stable").tolist()
    if len(order) <= MOST_ACTIONS:
        return sorted(order)
    likely = order[:MOST_ACTIONS]
    return likely if thought.action in (-1, *likely) else [*likely[:-1], thought.action]


def _bar(page: Page, y: int, name: str, share: float, taken: bool) -> None:
    px, right = page.px, page.picture.width - page.px(20)
    begin, end = right - px(106), right - px(36)
    page.say(name, page.width + px(20), y, 12, PAPER if taken else DIM)
    page.pen.rectangle((begin, y - px(5), end, y + px(5)), fill=_TRACK)
    page.pen.rectangle(
        (begin, y - px(5), begin + round(share * (end - begin)), y + px(5)), fill=_LIGHT if taken else BLUE
    )
    page.say(f"{share:.2f}", right, y, 12, PAPER if taken else DIM, "rm")


def _strip(page: Page, moment: Moment) -> None:
    """The views in memory, below everything, each lit as much as it is read."""
    px, top = page.px, page.px(TOP)
    page.pen.rectangle((0, top, page.picture.width, page.picture.height), fill=INK)
    page.pen.line((0, top, page.picture.width, top), fill=_TRACK, width=px(1))
    shown = sum(memory is not None for memory in moment.memories)
    some = "" if shown == moment.written else f" (of them {shown}, those read most)"
    title = (
        f"memory: {moment.written} view{'s' * (moment.written != 1)}{some}, each lit by its share of what is read now"
    )
    page.say(title, px(16), top + px(17), 14, DIM)
    side, pitch = px(64), (page.picture.width - px(24)) / PLACES
    for i, memory in enumerate(moment.memories):
        x, y = round(px(12) + (i + 0.5) * pitch - side / 2), top + px(34)
        if memory is None:
            page.pen.rectangle((x, y, x + side - 1, y + side - 1), outline=_TRACK, width=px(1))
        else:
            _thumbnail(page, memory, x, y, side)


def _thumbnail(page: Page, memory: Memory, x: int, y: int, side: int) -> None:
    """A view in memory in a frame of light, its step, its share and its text."""
    picture = fit(Image.fromarray(memory.rgb), side, side)
    # The eye wants the root: a fifth of the light is not dark. Read or not, the view stays recognisable.
    strength = memory.share**0.5
    shaded = Image.blend(Image.new("RGB", picture.size, INK), picture, 0.6 + 0.4 * strength)
    middle, low = x + side // 2, y + side
    place = middle - picture.width // 2, y + (side - picture.height) // 2
    page.framed(shaded, *place, page.px(4), _mix(strength))
    page.label(f"{memory.step}", *place, 11)
    page.say(f"{memory.share:.2f}", middle, low + page.px(17), 15, _mix(max(strength, 0.2)), "mm")
    sentence, _, name = memory.text.rpartition(" ")
    page.say(name or "no words", middle, low + page.px(36), 14, PAPER if name else DIM, "mm")
    page.say(sentence, middle, low + page.px(53), 12, DIM, "mm")


def _mix(strength: float) -> Colour:
    """From the colour of what is not read to that of what alone is read."""
    red, green, blue = (round(a + strength * (b - a)) for a, b in zip(_UNLIT, _LIGHT, strict=True))
    return red, green, blue
