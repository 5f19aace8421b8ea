"""The generated part of docs/levels.md: a picture and a table for each group of levels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float
from PIL import Image

from daxlab.compilation import BRIEF
from daxlab.errors import DaxlabError
from daxlab.levels import measured
from daxlab.levels.agenda import row as of_phase
from daxlab.levels.catalogue import GROUPS
from daxlab.levels.env import Env
from daxlab.levels.episode import Episode, text
from daxlab.levels.layout import build
from daxlab.levels.spec import INSTRUCTION, Level
from daxlab.levels.vocabulary import decode
from daxlab.viewer.page import PAPER, Page

BEGIN, END = "<!-- made by daxlab levels --doc: begin -->", "<!-- made by daxlab levels --doc: end -->"
COLUMNS = "level,objects,names,phases,task,actions,chance,expert,its steps,random object,speed,per object".split(",")
VIEW = (400, 300)
"""Width and height of each of the two views in a picture."""
SEEDS = 256
"""Episodes of which the one with the best view is shown."""


def write_page(page: Path) -> None:
    """Put tables and pictures between the marks of a page; the pictures lie beside it in a folder of its name."""
    pieces = page.read_text().split(BEGIN) if page.exists() else []
    if len(pieces) != 2 or pieces[1].count(END) != 1:
        raise DaxlabError(f"{page} must have the lines {BEGIN!r} and {END!r}, once each, to be written between")
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    for group in GROUPS:
        picture(list(group())).quantize(128).save(folder / f"{group.__name__}.png", optimize=True)
    page.write_text(f"{pieces[0]}{BEGIN}\n\n{tables(folder.name)}\n{END}{pieces[1].split(END)[1]}")


def tables(folder: str) -> str:
    """A section for each group."""
    return "\n".join(
        line for group in GROUPS for line in _section(group.__name__, group.__doc__ or "", group(), folder)
    )


def _section(name: str, about: str, levels: Iterator[Level], folder: str) -> Iterator[str]:
    kept, rates = measured.read(), measured.read(measured.RATES)
    yield f"### `{name}/`\n\n{about}\n\n![two views]({folder}/{name}.png)\n"
    yield f"| {' | '.join(COLUMNS)} |\n| {' | '.join(['---'] * len(COLUMNS))} |"
    for level in levels:
        row, found = measured.row(level, kept, rates), measured.figures(level, kept)
        reached = ["", "", ""]
        if found:
            expert, chance = found["expert"], found["random-object"]
            reached = [f"{expert['success']:.3f}", str(expert["median_steps"])]
            reached.append(f"{chance['success']:.3f} ± {chance['standard_error']:.3f}")
        cells = (
            f"`{level.name.split('/')[1]}`",
            f"{row['objects']} of {row['of']}" + (" classes" if level.exemplars else ""),
            "made up" if level.regime == "fast" else "permanent",
            row["phases"],
            row["task"],
            row["actions"],
            f"{level.chance:.3f}",
            *reached,
            *("" if row[name] is None else f"{row[name]:.2f}" for name in ("rate", "rate_per_object")),
        )
        yield "| " + " | ".join(map(str, cells)) + " |"
    yield ""


def picture(levels: list[Level]) -> Image.Image:
    """How an episode of a group begins, and what the agent sees as it is asked."""
    # The one of the group that has most to show.
    level = max(
        levels,
        key=lambda level: (len(level.goals), level.extension, level.has_agenda, level.num_objects, level.two_phase),
    )
    env = Env(level)

    @partial(jax.jit, compiler_options=BRIEF)
    def best(keys: Array) -> tuple[Episode, Episode]:
        states = jax.vmap(env.start)(keys)
        asked = jax.vmap(lambda state: _asked(level, state))(states)
        shown = jax.vmap(_in_view)(states) + jax.vmap(_in_view)(asked)
        return jax.tree.map(lambda x: x[jnp.argmax(shown)], (states, asked))

    views = best(jax.random.split(jax.random.key(0), SEEDS))
    draw = jax.jit(lambda state: env.picture(state, *VIEW))
    strip = 36
    sheet = Image.new("RGB", (2 * VIEW[0] + 8, VIEW[1] + strip), "white")
    for i, state in enumerate(views):
        page = Page(Image.fromarray(np.array(draw(state))), VIEW[0], VIEW[1] + strip, 1.0)
        said = decode(np.asarray(text(level, state)))
        page.say(f"“{said}”" if said else "(no text)", 10, VIEW[1] + strip // 2, 16, PAPER)
        sheet.paste(page.picture, (i * (VIEW[0] + 8), 0))
    return sheet


def _asked(level: Level, state: Episode) -> Episode:
    """The beginning of the last phase."""
    layout, names, target = state.next_layout, state.names, state.target
    if state.agenda is not None:
        layout, names, target = of_phase(state.agenda, jnp.array(-1))
    props, world = build(level, layout)
    phase = jnp.full_like(state.phase, INSTRUCTION)
    return state._replace(world=world, props=props, layout=layout, names=names, target=target, phase=phase)


def _in_view(state: Episode) -> Float[Array, ""]:
    """How much there is to see: furniture above all, then objects, one in the middle most."""

    def ahead(places: Float[Array, "n 2"]) -> Float[Array, ""]:
        offset = places - state.layout.agent
        off = jnp.arctan2(offset[:, 0], offset[:, 1]) - state.layout.heading
        return jnp.sum(jnp.abs(jnp.remainder(off + jnp.pi, 2 * jnp.pi) - jnp.pi) < 0.45)

    return ahead(state.layout.place[:, :2]) + 1.5 * ahead(state.layout.furniture) + 0.5 * (state.fixated >= 0)
