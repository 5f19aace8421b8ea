"""The evidence on one page: each table and figure, the paper's value, ours, what was not run."""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from daxlab.errors import DaxlabError
from daxlab.experiments import ledger
from daxlab.experiments.claims import TRAINING
from daxlab.experiments.figures import draw
from daxlab.experiments.findings import FEW, NOT, NOT_RUN, REPRODUCED, Finding, Row, Run, finding, learned
from daxlab.experiments.paper import EXPERIMENTS, experiment
from daxlab.experiments.scales import SCALES, Scale
from daxlab.learning.logs import write_whole

BEGIN, END = "<!-- made by daxlab paper report: begin -->", "<!-- made by daxlab paper report: end -->"
PICTURES = "figures"
"""Folder beside the page, for the pictures of its tables."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2330; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { margin-top: 3rem; border-top: 1px solid #d8dde6; padding-top: 1.2rem }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .3rem .8rem; text-align: left }
th { border-bottom: 2px solid #1c2330 } td { border-bottom: 1px solid #e6e9ef; vertical-align: top }
table.numbers { font-size: .87rem } table.numbers td:not(.wraps) { white-space: nowrap }
details { margin: 1rem 0 } summary { cursor: pointer; color: #5b6473 }
.reproduced { color: #14713d; font-weight: 600 } .not { color: #b3261e; font-weight: 600 } .none { color: #7a8494 }
img { max-width: 100% } small { color: #5b6473 }
"""


class Evidence(NamedTuple):
    """All there is at one scale."""

    found: list[Finding]
    strays: list[str]
    """Results that count for nothing, each with the reason."""


def build(scales: Sequence[Scale], results: Path = ledger.RESULTS) -> dict[str, Evidence]:
    """Everything that there is, by scale."""
    return {
        at.name: Evidence([finding(at, experiment(name), results) for name in EXPERIMENTS], ledger.strays(at, results))
        for at in scales
    }


def write(out: Path, evidence: dict[str, Evidence]) -> None:
    """One HTML page that needs no other file."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, page(evidence, out.parent))


def write_doc(doc: Path, evidence: dict[str, Evidence]) -> None:
    """The tables into a Markdown page, between its marks, and the pictures into a folder beside it."""
    pieces = doc.read_text().split(BEGIN) if doc.exists() else []
    if len(pieces) != 2 or pieces[1].count(END) != 1:
        raise DaxlabError(f"{doc} must have the lines {BEGIN!r} and {END!r}, once each, to be written between")
    (doc.parent / PICTURES).mkdir(exist_ok=True)
    for name, at in evidence.items():
        for one in (one for one in at.found if any(one.runs.values())):
            write_whole(doc.parent / _picture(name, one), draw(one))
    write_whole(doc, f"{pieces[0]}{BEGIN}\n\n{markdown(evidence, doc.parent)}\n{END}{pieces[1].split(END)[1]}")


def page(evidence: dict[str, Evidence], beside: Path) -> str:
    """The HTML."""
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>daxlab: the evidence</title>",
        f"<style>{STYLE}</style><h1>Grounded Language Learning Fast and Slow: the paper's claims, run again</h1>",
    ]
    for name, at in evidence.items():
        parts.append(f"<h2>Scale {name}: {html.escape(SCALES[name].about)}</h2>")
        parts.extend(f"<p>{html.escape(text)}</p>" for text in (f"{summary(at)} {AGENTS}", *at.strays))
        head, *rows = overview(at)
        lines = ["".join(f"<th>{text}</th>" for text in head)]
        for one, (title, *texts) in zip(at.found, rows, strict=True):
            linked = f"<a href='#{name}-{one.experiment.name}'>{html.escape(title)}</a>"
            lines.append("".join(f"<td>{text}</td>" for text in (linked, *map(html.escape, texts))))
        parts.append(f"<table class='numbers'>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>")
        for one in at.found:
            parts.extend(_section(one, name, beside))
    return "\n".join(parts) + "</html>\n"


AGENTS = (
    "The paper's agents are lstm, dnc, gtrxl (TransformerXL) and dcem; R is reconstruction. dcem_match is ours: where "
    "it stands beside a condition, that is no finding about the paper's own agent."
)


KINDS = (REPRODUCED, NOT, FEW, NOT_RUN)


def verdicts(one: Finding) -> list[str]:
    """Of its numbers and claims, where the paper says something that can be checked."""
    numbers = [row.verdict for row in one.rows if row.verdict and row.told.can_be_checked]
    return numbers + [said for *_, said in one.orders]


def summary(at: Evidence) -> str:
    """In one sentence."""
    claims = [said for one in at.found for said in verdicts(one)]
    counts = [(claims.count(kind), kind) for kind in dict.fromkeys((REPRODUCED, *claims))]
    return f"Of {len(claims)} numbers and claims: " + ", ".join(f"{count} {kind}" for count, kind in counts) + "."


def overview(at: Evidence) -> list[tuple[str, ...]]:
    """A head, and a row an experiment: how many of its numbers and claims are of each kind."""
    counts = [(one.experiment, verdicts(one)) for one in at.found]
    rows = [(of.title, of.where, *(str(said.count(kind) or "") for kind in KINDS)) for of, said in counts]
    return [("", "in the paper", *KINDS), *rows]


def _section(one: Finding, scale: str, beside: Path) -> list[str]:
    of = one.experiment
    parts = [
        f"<h3 id='{scale}-{of.name}'>{html.escape(of.title)} <small>({html.escape(of.where)}; {of.name})</small></h3>"
    ]
    if any(one.runs.values()):
        picture = base64.b64encode(draw(one)).decode()
        parts.append(f"<img alt='{html.escape(of.title)}' src='data:image/png;base64,{picture}'>")
    cells = "".join(f"<th>{name}</th>" for name in HEADER)
    rows = [f"<tr>{cells}</tr>"]
    for row in one.rows:
        marked = "reproduced" if row.verdict == REPRODUCED else "none" if row.verdict in ("", NOT_RUN, FEW) else "not"
        runs = ", ".join(_anchor(run.cell.seed, run.cell.curve, beside) for run in one.runs.get(row.name, []))
        texts = [html.escape(text) for text in columns(row, one)]
        body = "".join(
            f"<td class='wraps'>{text}</td>" if name in WRAPS else f"<td>{text}</td>"
            for name, text in zip(HEADER, texts[:-1], strict=False)
        )
        rows.append(f"<tr>{body}<td>{runs}</td><td class='{marked}'>{texts[-1]}</td></tr>")
    parts.append(f"<table class='numbers'>{''.join(rows)}</table>")
    parts.extend(f"<p>{html.escape(text)}</p>" for text in (*orders(one), *one.refused))
    parts.extend(_provenance(one, beside))
    return parts


def _provenance(one: Finding, beside: Path) -> list[str]:
    """Each run: its seed, what it did, the code and the machines, and where its config and its log are."""
    rows = []
    for name, runs in one.runs.items():
        for run in runs:
            told = run.result
            did = f"{told['steps'] / 1e6:.2f} M steps, {told['seconds']:.0f} s"
            texts = (name, str(run.cell.seed), did, told["commit"], ", ".join(machines(run)), told.get("date", "")[:10])
            files = (("config and tests", run.cell.result), ("log", run.cell.curve))
            links = ", ".join(_anchor(text, path, beside) for text, path in files)
            rows.append("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in texts) + f"<td>{links}</td></tr>")
    if not rows:
        return []
    head = "".join(
        f"<th>{name}</th>" for name in ("condition", "seed", "trained", "commit", "machine", "date", "files")
    )
    return [
        f"<details><summary>{len(rows)} runs, with commits and machines</summary>",
        f"<table class='numbers'><tr>{head}</tr>{''.join(rows)}</table></details>",
    ]


HEADER = ("condition", "agent", "in", "the paper", "ours (95%)", "a seed each", "0.9 after", "curves", "verdict")
WRAPS = ("condition", "the paper", "0.9 after")
"""Columns of words, which may take several lines."""


def columns(row: Row, one: Finding) -> list[str]:
    """A row's texts, without the links to its curves; the verdict last."""
    ours = "" if row.mean is None else f"{row.mean.value:.3f}"
    if row.mean is not None and row.mean.seeds > 1:
        ours += f" ({row.mean.low:.3f}…{row.mean.high:.3f})"
    seeds = row.source or " · ".join(f"{value:.3f}" for value in row.values)
    times = learned(one.runs.get(row.name, [])) if not row.test else []
    said = " · ".join("–" if t is None else f"{t.steps / 1e6:.2f} M, {t.seconds:.0f} s" for t in times)
    return [row.name, row.agent, row.test or TRAINING, str(row.told), ours, seeds, said, row.verdict]


def orders(one: Finding) -> list[str]:
    """The claims that one thing is better than another, each as a sentence."""
    return [
        f"“{order.words}”: {order.better} against {order.worse}"
        + (f", {order.test}" if order.test else "")
        + ("" if probability is None else f": better in {probability:.0%} of pairs of seeds")
        + f": {said}."
        for order, probability, said in one.orders
    ]


def markdown(evidence: dict[str, Evidence], beside: Path) -> str:
    """The tables of all experiments that have results; those that have none are named."""
    lines = []
    for name, at in evidence.items():
        lines.append(f"### Scale {name}: {SCALES[name].about}\n\n{summary(at)}\n")
        lines.extend(f"- {text}\n" for text in at.strays)
        missing = [one.experiment.name for one in at.found if not any(one.runs.values())]
        if len(missing) < len(at.found):
            head, *rows = overview(at)
            lines.extend(
                [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows), ""]
            )
        if missing:
            lines.append(f"Not yet run: {', '.join(missing)}.\n")
        for one in (one for one in at.found if any(one.runs.values())):
            of = one.experiment
            lines.append(f"**{of.title}** ({of.where}; `daxlab paper run {of.name} --scale {name}`; {made_by(one)})\n")
            lines.append(f"![{of.title}]({_picture(name, one)})\n")
            lines.append(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}")
            for row in one.rows:
                texts = [text.replace("|", "\\|") for text in columns(row, one)]
                runs = " ".join(f"[{r.cell.seed}]({_link(r.cell.curve, beside)})" for r in one.runs.get(row.name, []))
                lines.append(f"| {' | '.join((*texts[:-1], runs, texts[-1]))} |")
            lines.append("")
            lines.extend(f"- {text}" for text in (*orders(one), *one.refused))
            lines.append("")
    return "\n".join(lines)


def _picture(scale: str, one: Finding) -> str:
    return f"{PICTURES}/{scale}-{one.experiment.name}.png"


def made_by(one: Finding) -> str:
    """Commits and machines of its runs."""
    runs = [run for some in one.runs.values() for run in some]
    commits = sorted({run.result["commit"] for run in runs})
    return f"{', '.join(commits)}; {', '.join(sorted({name for run in runs for name in machines(run)}))}"


def machines(run: Run) -> list[str]:
    """That were at a run, by name."""
    return sorted({at["device"] for at in run.result.get("machines", [run.result["machine"]])})


def _anchor(text: object, path: Path, beside: Path) -> str:
    return f"<a href='{html.escape(_link(path, beside))}'>{text}</a>"


def _link(path: Path, beside: Path) -> str:
    return Path(os.path.relpath(path, beside)).as_posix()
