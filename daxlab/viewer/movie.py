"""Moments and a way to draw them, as a .gif, .mp4 or .html file that appears whole or not at all."""

from __future__ import annotations

import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from daxlab.errors import DaxlabError, need

SUFFIXES = (".gif", ".mp4", ".html")

Moment = TypeVar("Moment")


def check(out: Path, width: int, height: int, fps: int) -> None:
    """Refuse what cannot be written before anything is played."""
    if out.suffix not in SUFFIXES:
        raise DaxlabError(f"cannot write {out.name!r}: a film's name ends in .gif, .mp4 or .html")
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


def write(
    out: Path,
    moments: Sequence[Moment],
    draw: Callable[[Moment], Image.Image],
    long: Callable[[Moment], bool],
    fps: int,
    long_seconds: float,
) -> None:
    """Draw each moment; a long one stands for ``long_seconds``, any other for 1 / fps."""
    write_frames = _write_gif if out.suffix == ".gif" else _write_mp4
    with whole(out) as path:
        write_frames(path, moments, draw, [long_seconds if long(moment) else 1 / fps for moment in moments], fps)


@contextmanager
def whole(out: Path) -> Iterator[Path]:
    """A path beside ``out`` that takes its place at the end, or goes if there is an error."""
    path = out.with_name(f".{out.stem}-{os.getpid()}{out.suffix}")
    try:
        yield path
        os.replace(path, out)
    except OSError as error:
        raise DaxlabError(f"cannot write {str(out)!r}: {error.strerror or error}") from error
    finally:
        path.unlink(missing_ok=True)


def _write_gif(
    path: Path, moments: Sequence[Moment], draw: Callable[[Moment], Image.Image], seconds: list[float], fps: int
) -> None:
    # One palette for all frames: colours do not flicker, and what stands still costs nothing.
    palette = _palette([draw(moments[i]) for i in _sample(seconds)])
    pictures = (draw(moment).quantize(palette=palette, dither=Image.Dither.NONE) for moment in moments)
    durations = [round(100 * s) * 10 for s in seconds]
    next(pictures).save(path, save_all=True, append_images=pictures, duration=durations, loop=0, optimize=False)


def _sample(seconds: list[float], count: int = 20) -> list[int]:
    """Moments that between them have all the colours: evenly spread, and some of the long ones."""
    long = (i for i, s in enumerate(seconds) if s > min(seconds))
    return [*range(0, len(seconds), -(-len(seconds) // count)), *itertools.islice(long, count)]


def _palette(pictures: list[Image.Image]) -> Image.Image:
    """256 colours. A colour counts with the root of its pixels: else walls and floor leave none for the objects."""
    pixels = np.concatenate([np.asarray(picture)[::2, ::2].reshape(-1, 3) for picture in pictures])
    coarse = (pixels >> 3).astype(np.int32) @ np.array([1024, 32, 1], np.int32)
    _, group, count = np.unique(coarse, return_inverse=True, return_counts=True)
    mean = np.stack([np.bincount(group, pixels[:, i]) / count for i in range(3)], -1)
    weighted = np.repeat(mean.round().astype(np.uint8), np.ceil(np.sqrt(count)).astype(int), 0)
    return Image.fromarray(weighted[None]).quantize(256, method=Image.Quantize.MEDIANCUT)


def _write_mp4(
    path: Path, moments: Sequence[Moment], draw: Callable[[Moment], Image.Image], seconds: list[float], fps: int
) -> None:
    width, height = draw(moments[0]).size
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
            for moment, s in zip(moments, seconds, strict=True):
                picture = draw(moment).tobytes()
                for _ in range(round(s * fps)):
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
