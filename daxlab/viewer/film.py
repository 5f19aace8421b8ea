"""Films of episodes: the room at a size for people, with all that the agent is told and does.

>>> film("architecture_comparison/fast_map_three_objs", "expert", "episode.gif")
"""

from __future__ import annotations

import functools
import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from jax import Array
from jaxtyping import Int
from PIL import Image, ImageDraw, ImageFont

from daxlab.assets.catalog import bank
from daxlab.errors import DaxlabError, need, unknown
from daxlab.levels import expert
from daxlab.levels.env import Env, key_data
from daxlab.levels.episode import DISCOVERY, RIGHT, RUNNING, WRONG, Episode, text
from daxlab.levels.expert import Actor
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import WORDS, decode

END_SECONDS = 2.0
"""How long the end of an episode stands still."""
REWARD_STEPS = 8
"""How long a reward stays on the screen."""
SUFFIXES = (".gif", ".mp4")

_INK, _PAPER, _SHADE, _DIM = (25, 28, 34), (255, 255, 255), (18, 20, 26, 205), (176, 184, 196)
_BLUE, _ORANGE, _GREEN, _RED, _GREY = (40, 110, 200), (214, 110, 20), (30, 140, 70), (190, 45, 45), (95, 100, 110)


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


def film(
    level: str | Level,
    actor: str | Actor = "expert",
    out: str | Path = "episode.gif",
    seed: int = 0,
    episodes: int = 1,
    width: int = 640,
    height: int = 480,
    fps: int = 10,
) -> Path:
    """Write a film of an actor's episodes, whole or not at all, as .gif or .mp4; the same seed gives the same film."""
    out = Path(out)
    _check(out, width, height, fps)
    level = Env(level).level
    shots = record(level, _actor(actor), seed, episodes)
    write = _write_gif if out.suffix == ".gif" else _write_mp4
    with _whole(out) as path:
        write(path, shots, _Camera(level, width, height).draw, fps)
    return out


def frames(
    level: str | Level,
    actor: str | Actor = "expert",
    seed: int = 0,
    episodes: int = 1,
    width: int = 640,
    height: int = 480,
) -> Iterator[Image.Image]:
    """The pictures of a film, one for each state: an episode of n steps has n + 1."""
    level = Env(level).level
    camera = _Camera(level, width, height)
    return map(camera.draw, record(level, _actor(actor), seed, episodes))


def random_action(level: Level, episode: Episode) -> Int[Array, ""]:
    """An actor that knows nothing: any action, at random."""
    key = jax.random.fold_in(jax.random.wrap_key_data(episode.key), episode.clock)
    return jax.random.randint(key, (), 0, len(level.actions))


ACTORS: dict[str, Actor] = {**expert.ACTORS, "random": random_action}
"""Who can play in a film, by name."""


def record(level: Level, actor: Actor, seed: int, episodes: int) -> list[Shot]:
    """Play the first episodes of a seed without drawing them."""
    if episodes < 1:
        raise DaxlabError(f"episodes is {episodes}; at least 1 is needed")
    start, step, text = _play(level, actor)
    key, shots = key_data(jax.random.key(seed)), []

    def shoot(state: Episode, action: str, rewards: list[float]) -> None:
        earned = next((reward for reward in rewards[: -REWARD_STEPS - 1 : -1] if reward), 0.0)
        state, tokens = jax.device_get((state, text(state)))
        shots.append(Shot(state, decode(tokens), action, earned, sum(rewards)))

    for _ in range(episodes):
        state = start(key)
        rewards: list[float] = []
        shoot(state, "", rewards)
        while int(state.outcome) == RUNNING:
            action, state = step(state)
            rewards.append(float(state.reward))
            shoot(state, level.actions[int(action)], rewards)
        key = state.key
    return shots


@functools.lru_cache(maxsize=8)
def _play(level: Level, actor: Actor) -> tuple[Callable, Callable, Callable]:
    """Start, step and text of an episode, compiled."""
    env = Env(level)

    def step(state: Episode) -> tuple[Array, Episode]:
        action = actor(level, state)
        return action, env.advance(state, action)

    return jax.jit(env.start), jax.jit(step), jax.jit(functools.partial(text, level))


def _actor(given: str | Actor) -> Actor:
    if not isinstance(given, str):
        return given
    if given not in ACTORS:
        raise unknown("actor", given, ACTORS)
    return ACTORS[given]


def _check(out: Path, width: int, height: int, fps: int) -> None:
    """Refuse what cannot be written before anything is played."""
    if out.suffix not in SUFFIXES:
        raise DaxlabError(f"cannot write {out.name!r}: a film's name ends in .gif or .mp4")
    if not out.parent.is_dir():
        raise DaxlabError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}")
    if min(width, height) < 120:
        raise DaxlabError(f"the film is {width}×{height} pixels; both sides must be at least 120")
    if not 1 <= fps <= 50:
        raise DaxlabError(f"fps is {fps}; 1…50 is allowed")
    if out.suffix == ".mp4":
        if width % 2 or height % 2:
            raise DaxlabError(f"the film is {width}×{height} pixels; .mp4 needs even numbers")
        _ffmpeg()


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A path beside ``out`` that takes its place at the end, or goes if there is an error."""
    path = out.with_name(f".{out.stem}-{os.getpid()}{out.suffix}")
    try:
        yield path
        os.replace(path, out)
    except OSError as error:
        raise DaxlabError(f"cannot write {str(out)!r}: {error.strerror or error}") from error
    finally:
        path.unlink(missing_ok=True)


def _write_gif(path: Path, shots: list[Shot], draw: Callable[[Shot], Image.Image], fps: int) -> None:
    # One palette for all frames: colours do not flicker, and what stands still costs nothing.
    palette = _palette([draw(shot) for shot in _sample(shots)])
    pictures = (draw(shot).quantize(palette=palette, dither=Image.Dither.NONE) for shot in shots)
    durations = [round(100 * (END_SECONDS if _ended(shot) else 1 / fps)) * 10 for shot in shots]
    next(pictures).save(path, save_all=True, append_images=pictures, duration=durations, loop=0, optimize=False)


def _sample(shots: list[Shot], count: int = 20) -> list[Shot]:
    """Shots that between them have all the colours: evenly spread, and some ends."""
    return [*shots[:: -(-len(shots) // count)], *itertools.islice(filter(_ended, shots), count)]


def _palette(pictures: list[Image.Image]) -> Image.Image:
    """256 colours. A colour counts with the root of its pixels: else walls and floor leave none for the objects."""
    pixels = np.concatenate([np.asarray(picture)[::2, ::2].reshape(-1, 3) for picture in pictures])
    coarse = (pixels >> 3).astype(np.int32) @ np.array([1024, 32, 1], np.int32)
    _, group, count = np.unique(coarse, return_inverse=True, return_counts=True)
    mean = np.stack([np.bincount(group, pixels[:, i]) / count for i in range(3)], -1)
    weighted = np.repeat(mean.round().astype(np.uint8), np.ceil(np.sqrt(count)).astype(int), 0)
    return Image.fromarray(weighted[None]).quantize(256, method=Image.Quantize.MEDIANCUT)


def _write_mp4(path: Path, shots: list[Shot], draw: Callable[[Shot], Image.Image], fps: int) -> None:
    width, height = draw(shots[0]).size
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-"]
    wanted = ["-an", "-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    # One thread and no dates or versions inside: the same film is the same file.
    same = ["-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1"]
    command = [_ffmpeg(), "-y", "-loglevel", "error", *given, *wanted, *same, str(path)]
    # Not through imageio's writer: it forks with Python code to run in the child, which can hang beside JAX's threads.
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors)
        try:
            assert process.stdin is not None
            for shot in shots:
                picture = draw(shot).tobytes()
                for _ in range(round(END_SECONDS * fps) if _ended(shot) else 1):
                    process.stdin.write(picture)
            process.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg says why.
        except BaseException:
            process.kill()
            raise
        finally:
            code = process.wait()
        errors.seek(0)
        if code:
            raise DaxlabError(f"ffmpeg could not write the film: {errors.read().decode(errors='replace').strip()}")


def _ffmpeg() -> str:
    """The program that comes with imageio."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped, unused-ignore]

        return get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise need("imageio", "film") from None


def _ended(shot: Shot) -> bool:
    return int(shot.state.outcome) != RUNNING


class _Camera:
    """Draws the shots of a level at one size."""

    def __init__(self, level: Level, width: int, height: int) -> None:
        self.size = width, height
        self.views = _views(level, width, height - _unit(width, height, _STRIP))

    def draw(self, shot: Shot) -> Image.Image:
        """One frame."""
        large, small = (Image.fromarray(np.array(view)) for view in self.views(shot.state))
        page = _Page(large, *self.size)
        page.sight(shot)
        page.inset(small)
        page.corner(shot)
        page.strip(shot)
        if _ended(shot):
            page.outcome(shot)
        return page.picture


@functools.lru_cache(maxsize=8)
def _views(level: Level, width: int, height: int) -> Callable[[Episode], tuple[Array, Array]]:
    """What a person sees of a state, and what the agent does."""
    env = Env(level)
    return jax.jit(lambda state: (env.picture(state, width, height), env.picture(state)))


_STRIP = 72
"""Height of the strip below the view, in units."""


def _unit(width: int, height: int, units: float = 1.0) -> int:
    """Pixels of so many units; a film of 640×480 has one a pixel, others are laid out alike."""
    return max(1, round(units * min(height / 480, width / 640)))


class _Page:
    """A frame to write on: the view, and below it an empty strip."""

    def __init__(self, view: Image.Image, width: int, height: int) -> None:
        self.width, self.view_height = view.size
        self.px = functools.partial(_unit, width, height)
        self.picture = Image.new("RGB", (width, height), _INK)
        self.picture.paste(view)
        self.pen = ImageDraw.Draw(self.picture, "RGBA")

    def sight(self, shot: Shot) -> None:
        """A ring where the agent looks, filled in while an object there is named."""
        x, y, r = self.width // 2, self.view_height // 2, self.px(7)
        named = int(shot.state.phase) == DISCOVERY and int(shot.state.fixated) >= 0
        for grow, colour in ((1, _INK), (0, _PAPER)):
            box = (x - r - grow, y - r - grow, x + r + grow, y + r + grow)
            self.pen.ellipse(box, outline=(*colour, 230), width=self.px(3) if named else self.px(1.5))

    def inset(self, small: Image.Image) -> None:
        """The agent's own picture, each of its pixels a square."""
        scale = max(1, round(self.px(144) / small.height))
        small = small.resize((small.width * scale, small.height * scale), Image.Resampling.NEAREST)
        edge, gap = self.px(3), self.px(14)
        x, y = self.width - gap - small.width, gap
        self.pen.rectangle((x - edge, y - edge, x + small.width + edge - 1, y + small.height + edge - 1), fill=_PAPER)
        self.picture.paste(small, (x, y))
        self.label("the agent's view", x - edge, y + small.height + edge + self.px(3), 13)

    def corner(self, shot: Shot) -> None:
        """Phase, step and reward, top left."""
        discovering = int(shot.state.phase) == DISCOVERY
        title, colour = ("Discovery", _BLUE) if discovering else ("Instruction", _ORANGE)
        x, y = self.px(14), self.px(14)
        self.pill(title, x, y, 22, colour)
        words = "look at objects to hear their names" if discovering else "the objects have moved: do as told"
        self.label(words, x, y + self.px(40), 14)
        self.label(f"step {int(shot.state.clock)}  ·  reward {shot.total:.1f}", x, y + self.px(64), 14)
        if shot.earned:
            self.pill(f"+{shot.earned:.1f}", x, y + self.px(92), 22, _GREEN)

    def strip(self, shot: Shot) -> None:
        """The text channel, the names heard so far and the action, at the bottom."""
        top = self.view_height
        if shot.text:
            self.say(f"“{shot.text}”", self.px(16), top + self.px(25), 28, _PAPER)
        names = [WORDS[int(name)] for name in shot.state.names[shot.state.visited]]
        low = top + self.px(57)
        self.say(f"heard: {', '.join(names) or 'no name yet'}", self.px(16), low, 14, _DIM)
        self.say(shot.action, self.width - self.px(16), low, 14, _DIM, "rm")

    def outcome(self, shot: Shot) -> None:
        """How it ended, across the middle."""
        title, colour = {RIGHT: ("Right", _GREEN), WRONG: ("Wrong", _RED)}.get(
            int(shot.state.outcome), ("Time out", _GREY)
        )
        half = self.px(40)
        middle = self.view_height - half - self.px(14)
        self.pen.rectangle((0, middle - half, self.width, middle + half), fill=(*colour, 235))
        self.say(title, self.width // 2, middle - self.px(12), 38, _PAPER, "mm")
        self.say(_sentence(shot.state), self.width // 2, middle + self.px(22), 17, _PAPER, "mm")

    def pill(self, text: str, x: int, y: int, size: int, colour: tuple[int, int, int]) -> None:
        """A word on a coloured ground; x and y are its corner."""
        font, pad = _font(self.px(size)), self.px(10)
        wide, high = round(font.getlength(text)) + 2 * pad, self.px(size + 12)
        self.pen.rounded_rectangle((x, y, x + wide, y + high), radius=high // 2, fill=(*colour, 240))
        self.say(text, x + pad, y + high // 2, size, _PAPER)

    def label(self, text: str, x: int, y: int, size: int) -> None:
        """A line on a dark ground; x and y are its corner."""
        font, pad = _font(self.px(size)), self.px(5)
        wide, high = round(font.getlength(text)) + 2 * pad, self.px(size + 7)
        self.pen.rectangle((x, y, x + wide, y + high), fill=_SHADE)
        self.say(text, x + pad, y + high // 2, size, _PAPER)

    def say(self, text: str, x: int, y: int, size: int, colour: tuple[int, int, int], anchor: str = "lm") -> None:
        """A line of text about a point."""
        self.pen.text((x, y), text, fill=colour, font=_font(self.px(size)), anchor=anchor)


@functools.cache
def _font(pixels: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=pixels)


def _sentence(state: Episode) -> str:
    """What was lifted, and what should have been."""
    asked = _called(state, int(state.target))
    lifted = int(state.lifted)
    if lifted < 0:
        return f"nothing was lifted; the {asked} was asked for"
    return f"lifted the {_called(state, lifted)}" + ("" if lifted == int(state.target) else f", not the {asked}")


def _called(state: Episode, slot: int) -> str:
    """An object by its name in this episode, and what it is if that differs."""
    name, thing = WORDS[int(state.names[slot])], bank().names[int(state.layout.mesh[slot])]
    article = "an" if thing[0] in "aeiou" else "a"
    return name if name == thing else f"{name} ({article} {thing})"
