"""The agents as diagrams: boxes and arrows written as SVG, one file an agent.

python -m daxlab.viewer.diagrams docs/agents
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from daxlab.errors import DaxlabError

FILL = {"in": "#eceff1", "net": "#dbe9f8", "memory": "#fde8cf", "core": "#dcefdc", "out": "#e9e0f4", "ours": "#fbdcdc"}
"""Colours by kind: what comes in, encoders and decoders, memory, core, what goes out, what is not the paper's."""
LINE = 16
"""Height of a line of text."""


class Box(NamedTuple):
    """A rectangle with lines of text; x and y are its middle."""

    x: float
    y: float
    width: float
    kind: str
    text: str

    @property
    def height(self) -> float:
        """As many lines as there are, and some space."""
        return LINE * len(self.text.split("\n")) + 14

    def side(self, name: str) -> tuple[float, float]:
        """The middle of a side (left, right, top, bottom); `top+30` is 30 to the right of it, or below it."""
        name, _, shift = (
            name.partition("+") if "+" in name else (*name.partition("-")[:2], "-" + name.partition("-")[2])
        )
        by = float(shift) if shift not in ("", "-") else 0.0
        return {
            "left": (self.x - self.width / 2, self.y + by),
            "right": (self.x + self.width / 2, self.y + by),
            "top": (self.x + by, self.y - self.height / 2),
            "bottom": (self.x + by, self.y + self.height / 2),
        }[name]


class Arrow(NamedTuple):
    """From one box's side to another's. `via` are its corners: y, x, … after a vertical start, else x, y, …

    `late`: what flows arrives at the next step, or only where it is wanted (dashed).
    """

    start: str
    end: str
    via: tuple[float, ...] = ()
    text: str = ""
    late: bool = False


class Diagram(NamedTuple):
    """A picture."""

    width: int
    height: int
    title: str
    boxes: dict[str, Box]
    arrows: tuple[Arrow, ...]

    def svg(self) -> str:
        """The picture as a file's text."""
        parts = [_box(box) for box in self.boxes.values()] + [self._arrow(arrow) for arrow in self.arrows]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'font-family="sans-serif" font-size="13">\n<title>{escape(self.title)}</title>\n'
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="#455a64"/></marker></defs>\n'
            f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
        )

    def _point(self, end: str) -> tuple[float, float]:
        name, _, side = end.partition(".")
        return self.boxes[name].side(side)

    def _arrow(self, arrow: Arrow) -> str:
        points = [self._point(arrow.start)]
        vertical = arrow.start.partition(".")[2].startswith(("top", "bottom"))
        for place in arrow.via:
            x, y = points[-1]
            points.append((x, place) if vertical else (place, y))
            vertical = not vertical
        last = self._point(arrow.end)
        x, y = points[-1]
        if arrow.via or (x != last[0] and y != last[1]):
            points.append((x, last[1]) if vertical else (last[0], y))
        points.append(last)
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if arrow.late else ""
        line = (
            f'<polyline points="{path}" fill="none" stroke="#455a64" stroke-width="1.4"{dash} marker-end="url(#tip)"/>'
        )
        if not arrow.text:
            return line
        (x0, y0), (x1, y1) = max(itertools.pairwise(points), key=_length)
        across = abs(y1 - y0) > abs(x1 - x0)
        x, y = (x0 + x1) / 2 + (6 if across else 0), (y0 + y1) / 2 - (0 if across else 5)
        anchor = "start" if across else "middle"
        return f'{line}<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="#455a64">{escape(arrow.text)}</text>'


def _length(pair: tuple[tuple[float, float], tuple[float, float]]) -> float:
    (x0, y0), (x1, y1) = pair
    return abs(x1 - x0) + abs(y1 - y0)


def _box(box: Box) -> str:
    lines = box.text.split("\n")
    top = box.y - LINE * (len(lines) - 1) / 2 + 4.5
    text = "".join(
        f'<text x="{box.x:g}" y="{top + LINE * i:g}" text-anchor="middle">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    x, y = box.x - box.width / 2, box.y - box.height / 2
    style = f'fill="{FILL[box.kind]}" stroke="#78909c"'
    return f'<rect x="{x:g}" y="{y:g}" width="{box.width:g}" height="{box.height:g}" rx="5" {style}/>{text}'


def _frame(y: float, latent: str, shift: float = 0) -> tuple[dict[str, Box], tuple[Arrow, ...]]:
    """What every agent with an LSTM has: eyes and ears on the left, e and h in the middle, heads on the right."""
    boxes = {
        "rgb": Box(55, y - 40, 80, "in", "picture"),
        "words": Box(55, y + 40, 80, "in", "words"),
        "vision": Box(180, y - 40, 100, "net", "Vision\nv"),
        "language": Box(180, y + 40, 100, "net", "Language\nl"),
        "e": Box(455 + shift, y, 150, "core", latent),
        "lstm": Box(630 + shift, y, 90, "core", "LSTM\nh"),
        "heads": Box(765 + shift, y, 90, "out", "policy π\nvalue V"),
        "decoders": Box(455 + shift, y + 110, 150, "net", "picture and words\nrebuilt (+ R)"),
    }
    arrows = (
        Arrow("rgb.right", "vision.left"),
        Arrow("words.right", "language.left"),
        Arrow("e.right", "lstm.left"),
        Arrow("lstm.right", "heads.left"),
        Arrow("e.top+50", "heads.top", (y - 50,)),
        Arrow("e.bottom", "decoders.top", late=True),
        Arrow("lstm.bottom", "e.bottom+50", (y + 55,), "h of the last step", late=True),
    )
    return boxes, arrows


def lstm() -> Diagram:
    """No memory but its state."""
    boxes, arrows = _frame(85, "e = relu(w(h, x))\nx = [v, l]")
    into = (Arrow("vision.right", "e.left-10", (300,)), Arrow("language.right", "e.left+10", (300,)))
    return Diagram(830, 240, "The LSTM agent", boxes, (*arrows, *into))


def dnc() -> Diagram:
    """Latents written, read by cosine."""
    boxes, arrows = _frame(220, "e = relu(w(h, r, x))\nx = [v, l]")
    boxes |= {
        "memory": Box(440, 65, 190, "memory", "memory: M rows of e\nthe newest over the oldest"),
        "read": Box(690, 65, 215, "memory", "cosine(q, row), the k nearest\nsoftmax(β · cosine)"),
    }
    more = (
        Arrow("vision.right", "e.left-10", (300,)),
        Arrow("language.right", "e.left+10", (300,)),
        Arrow("e.top-15", "memory.bottom", text="write e"),
        Arrow("memory.right", "read.left"),
        Arrow("lstm.top+10", "read.bottom-50", text="q(h), β(h)"),
        Arrow("read.top", "e.left-18", (24, 320), "r, used at the next step", late=True),
    )
    return Diagram(830, 375, "The DNC agent", boxes, (*arrows, *more))


def _dual(title: str, ours: bool) -> Diagram:
    """Keys are language, values are vision."""
    boxes, arrows = _frame(275, "e = relu(w(h, r, x))\nx = [v, l]", shift=60)
    query = "q = l + gain · q(v, l, h)" if ours else "q = q(v, l, h)"
    matched = "r: self-attention over the k, summed"
    if ours:
        boxes["vision"] = Box(180, 235, 110, "ours", "Vision\nstandardised v")
        matched = f"{matched},\nand v ⊙ Σm̂, cos(v, Σm̂)"
    kind = "ours" if ours else "memory"
    boxes |= {
        "memory": Box(345, 50, 180, "memory", "memory: M rows\nkey l, value v"),
        "query": Box(345, 160, 180, kind, f"{query}\nfor each head"),
        "read": Box(
            700, 57, 260, "memory", "cosine(q, key), the k nearest\nŝ = softmax(sharpness · cosine)\nm̂ = ŝ · value"
        ),
        "sum": Box(700, 150, 260, kind, matched),
    }
    more = (
        Arrow("vision.right", "e.left-10", (305,)),
        Arrow("language.right", "e.left+10", (305,)),
        Arrow("vision.top", "memory.left", text="write l and v"),
        Arrow("language.right", "query.left+10", (246,)),
        Arrow("vision.right", "query.left-10", (240,)),
        Arrow("memory.right", "read.left-7"),
        Arrow("query.right", "read.left+14", (500,)),
        Arrow("lstm.top-20", "query.bottom", (220,), "h of the last step", late=True),
        Arrow("read.bottom", "sum.top"),
        Arrow("sum.bottom-100", "e.top+20", (200,)),
    )
    return Diagram(890, 410, title, boxes, (*arrows, *more))


def dcem() -> Diagram:
    """The paper's dual-coding memory."""
    return _dual("The dual-coding episodic memory agent", ours=False)


def dcem_match() -> Diagram:
    """Ours."""
    return _dual("dcem_match, our variant of it; what differs is red", ours=True)


def gtrxl() -> Diagram:
    """The gated TransformerXL."""
    boxes = {
        "rgb": Box(55, 225, 80, "in", "picture"),
        "words": Box(55, 305, 80, "in", "words"),
        "vision": Box(180, 225, 100, "net", "Vision\nv"),
        "language": Box(180, 305, 100, "net", "Language\nl"),
        "e": Box(340, 265, 130, "core", "e = relu(W[v, l])\nenters layer 1"),
        "attention": Box(520, 150, 205, "memory", "LayerNorm, attention to the\nlast M inputs of this layer"),
        "gate": Box(520, 235, 190, "core", "gate g(E, relu(·)): Y"),
        "mlp": Box(520, 305, 190, "core", "LayerNorm, MLP"),
        "gate2": Box(520, 370, 190, "core", "gate g(Y, relu(·)): E of\nthe next layer; at last h"),
        "memory": Box(520, 50, 190, "memory", "memory: a column a layer,\nM rows of its past inputs"),
        "heads": Box(770, 370, 100, "out", "policy π\nvalue V"),
        "decoders": Box(340, 370, 130, "net", "picture, words\nrebuilt (+ R)"),
    }
    arrows = (
        Arrow("rgb.right", "vision.left"),
        Arrow("words.right", "language.left"),
        Arrow("vision.right", "e.left-8", (250,)),
        Arrow("language.right", "e.left+8", (250,)),
        Arrow("e.top", "attention.left", (), "E"),
        Arrow("memory.bottom", "attention.top", text="no gradient"),
        Arrow("attention.bottom", "gate.top"),
        Arrow("gate.bottom", "mlp.top"),
        Arrow("mlp.bottom", "gate2.top"),
        Arrow("gate2.right+8", "heads.left+8", text=""),
        Arrow("gate2.right-12", "attention.right", (650,), "× 4 layers", late=True),
        Arrow("e.top-30", "memory.left", (), "write E", late=True),
        Arrow("e.bottom", "decoders.top", late=True),
        Arrow("e.right", "heads.top", (412, 195, 770), "e"),
    )
    return Diagram(835, 420, "The gated TransformerXL agent", boxes, arrows)


def episode() -> Diagram:
    """The two phases, and what a step is."""
    boxes = {
        "reset": Box(75, 60, 130, "in", "objects, names\nand places drawn"),
        "discovery": Box(
            282, 60, 222, "memory", "discovery\n“This is a dax” while looked at\n+0.1 for each first look"
        ),
        "again": Box(488, 60, 100, "in", "placed anew"),
        "instruction": Box(650, 60, 170, "core", "instruction\n“Pick up a dax”"),
        "end": Box(840, 60, 120, "out", "first lift ends it\n+1 if it is the dax"),
        "agent": Box(110, 190, 130, "core", "agent\n1 of 46 actions"),
        "level": Box(310, 190, 150, "memory", "level\nphase, words, reward"),
        "world": Box(520, 190, 150, "net", "world\nforces, contacts, grip"),
        "render": Box(720, 190, 130, "net", "render\n96×72 pixels"),
    }
    arrows = (
        Arrow("reset.right", "discovery.left"),
        Arrow("discovery.right", "again.left"),
        Arrow("again.right", "instruction.left"),
        Arrow("instruction.right", "end.left"),
        Arrow("agent.right", "level.left"),
        Arrow("level.right", "world.left"),
        Arrow("world.right", "render.left"),
        Arrow("render.bottom", "agent.bottom", (245,), "each step, ten a second: picture and words"),
    )
    return Diagram(910, 265, "An episode, and a step of it", boxes, arrows)


DIAGRAMS = {f"agents/{draw.__name__}": draw for draw in (lstm, dnc, dcem, dcem_match, gtrxl)} | {"episode": episode}
"""By file, without its ending."""


def main(arguments: list[str]) -> None:
    """Write every diagram into a folder."""
    if len(arguments) != 1:
        raise DaxlabError("say into which folder: python -m daxlab.viewer.diagrams docs")
    for name, draw in DIAGRAMS.items():
        path = Path(arguments[0]) / f"{name}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
