"""A frame to write on: the view, and all that is said about a moment of an episode."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from daxlab.levels.episode import RIGHT, RUNNING, WRONG, Episode
from daxlab.levels.spec import DISCOVERY
from daxlab.levels.vocabulary import WORDS

Colour = tuple[int, int, int]

INK, PAPER, SHADE, DIM = (25, 28, 34), (255, 255, 255), (18, 20, 26, 205), (176, 184, 196)
BLUE, ORANGE, GREEN, RED, GREY = (40, 110, 200), (214, 110, 20), (30, 140, 70), (190, 45, 45), (95, 100, 110)

STRIP = 72
"""Height of the strip below the view, in units."""


@dataclass(frozen=True)
class Shot:
    """One step of an episode, as a person would like to be told of it."""

    state: Episode
    text: str
    """The text channel."""
    action: str
    """Name of the action that led here; empty at the start."""
    earned: float
    """The latest reward, for as long as it is shown; else 0."""
    total: float
    """Sum of rewards so far."""
    things: tuple[str, ...]
    """What each mesh is."""

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return int(self.state.outcome) != RUNNING


def fit(picture: Image.Image, width: int, height: int) -> Image.Image:
    """As large as it fits; where it grows, each of its pixels becomes a square."""
    scale = min(width / picture.width, height / picture.height)
    squares = math.ceil(scale)
    larger = picture.resize((picture.width * squares, picture.height * squares), Image.Resampling.NEAREST)
    return larger.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BOX)


def pixels(unit: float, units: float = 1.0) -> int:
    """Pixels of so many units; films of all sizes are laid out alike."""
    return max(1, round(units * unit))


class Page:
    """The view at the top left of an empty frame; one unit is so many pixels."""

    def __init__(self, view: Image.Image, width: int, height: int, unit: float) -> None:
        self.width, self.view_height = view.size
        self.px = functools.partial(pixels, unit)
        self.picture = Image.new("RGB", (width, height), INK)
        self.picture.paste(view)
        self.pen = ImageDraw.Draw(self.picture, "RGBA")

    def sight(self, shot: Shot) -> None:
        """A ring where the agent looks, filled in while an object there is named."""
        x, y, r = self.width // 2, self.view_height // 2, self.px(7)
        named = int(shot.state.phase) == DISCOVERY and int(shot.state.fixated) >= 0
        for grow, colour in ((1, INK), (0, PAPER)):
            box = (x - r - grow, y - r - grow, x + r + grow, y + r + grow)
            self.pen.ellipse(box, outline=(*colour, 230), width=self.px(3) if named else self.px(1.5))

    def inset(self, small: Image.Image) -> None:
        """The agent's own picture, over the view."""
        small = fit(small, self.px(192), self.px(144))
        edge, gap = self.px(3), self.px(14)
        x, y = self.width - gap - small.width, gap
        self.framed(small, x, y, edge, PAPER)
        self.label("the agent's view", x - edge, y + small.height + edge + self.px(3), 13)

    def corner(self, shot: Shot) -> None:
        """Phase, step and reward, top left."""
        discovering = int(shot.state.phase) == DISCOVERY
        title, colour = ("Discovery", BLUE) if discovering else ("Instruction", ORANGE)
        x, y = self.px(14), self.px(14)
        self.pill(title, x, y, 22, colour)
        look = "look at" if shot.state.layout.present is None else "walk into"
        words = f"{look} objects to hear their names" if discovering else "the objects have moved: do as told"
        self.label(words, x, y + self.px(40), 14)
        self.label(f"step {int(shot.state.clock)}  ·  reward {shot.total:.1f}", x, y + self.px(64), 14)
        if shot.earned:
            self.pill(f"{shot.earned:+.1f}", x, y + self.px(92), 22, GREEN)

    def words(self, shot: Shot) -> None:
        """The text channel and the names heard so far, below the view."""
        if shot.text:
            self.say(f"“{shot.text}”", self.px(16), self.view_height + self.px(25), 28, PAPER)
        names = [WORDS[int(name)] for name in shot.state.names[shot.state.visited]]
        self.say(f"heard: {', '.join(names) or 'no name yet'}", self.px(16), self.view_height + self.px(57), 14, DIM)

    def action(self, shot: Shot) -> None:
        """The action that led here, below the view."""
        self.say(shot.action, self.width - self.px(16), self.view_height + self.px(57), 14, DIM, "rm")

    def outcome(self, shot: Shot) -> None:
        """How it ended, across the middle."""
        title, colour = {RIGHT: ("Right", GREEN), WRONG: ("Wrong", RED)}.get(
            int(shot.state.outcome), ("Time out", GREY)
        )
        half = self.px(40)
        middle = self.view_height - half - self.px(14)
        self.pen.rectangle((0, middle - half, self.width, middle + half), fill=(*colour, 235))
        self.say(title, self.width // 2, middle - self.px(12), 38, PAPER, "mm")
        self.say(verdict(shot), self.width // 2, middle + self.px(22), 17, PAPER, "mm")

    def framed(self, picture: Image.Image, x: int, y: int, edge: int, colour: Colour) -> None:
        """A picture in a frame; x and y are the picture's corner."""
        self.pen.rectangle(
            (x - edge, y - edge, x + picture.width + edge - 1, y + picture.height + edge - 1), fill=colour
        )
        self.picture.paste(picture, (x, y))

    def pill(self, text: str, x: int, y: int, size: int, colour: Colour) -> None:
        """A word on a coloured ground; x and y are its corner."""
        font, pad = _font(self.px(size)), self.px(10)
        wide, high = round(font.getlength(text)) + 2 * pad, self.px(size + 12)
        self.pen.rounded_rectangle((x, y, x + wide, y + high), radius=high // 2, fill=(*colour, 240))
        self.say(text, x + pad, y + high // 2, size, PAPER)

    def label(self, text: str, x: int, y: int, size: int) -> None:
        """A line on a dark ground; x and y are its corner."""
        font, pad = _font(self.px(size)), self.px(5)
        wide, high = round(font.getlength(text)) + 2 * pad, self.px(size + 7)
        self.pen.rectangle((x, y, x + wide, y + high), fill=SHADE)
        self.say(text, x + pad, y + high // 2, size, PAPER)

    def say(self, text: str, x: int, y: int, size: int, colour: Colour, anchor: str = "lm") -> None:
        """A line of text about a point."""
        self.pen.text((x, y), text, fill=colour, font=_font(self.px(size)), anchor=anchor)


@functools.cache
def _font(pixels: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=pixels)


def verdict(shot: Shot) -> str:
    """What was lifted or put down, and what should have been."""
    state = shot.state
    asked = _called(shot, int(state.target))
    lifted = int(state.lifted)
    done = "lifted" if state.putting is None else "put down"
    done = done if state.layout.present is None else "walked into"
    if lifted < 0:
        return f"nothing was {done}; the {asked} was asked for"
    if lifted == int(state.target):
        return f"{done} the {asked}" + (" in the wrong place" if int(state.outcome) == WRONG else "")
    return f"{done} the {_called(shot, lifted)}, not the {asked}"


def _called(shot: Shot, slot: int) -> str:
    """An object by its name in this episode, and what it is if that differs."""
    name, thing = WORDS[int(shot.state.names[slot])], shot.things[int(shot.state.layout.mesh[slot])]
    article = "an" if thing[0] in "aeiou" else "a"
    return name if name == thing else f"{name} ({article} {thing})"
