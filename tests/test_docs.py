"""The docs: every code block runs or parses, the pages fit together, and the site needs nothing from elsewhere.

What is run is real but for the learner: `daxlab train` does without, and a page's own update is traced but not compiled
(`test_learning_loop.py` pays for that). Page and notebook share programs, so they stand in one file.
"""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys

import matplotlib as mpl
import pytest
import yaml

from daxlab import cli
from daxlab.cli_train import Train, agent_table
from daxlab.learning import config, loop, run
from daxlab.levels import files, registry
from daxlab.viewer.diagrams import DIAGRAMS
from tests.blocks import ROOT, Block, Reader, blocks, commands, smaller
from tests.small import no_learning, only_traced, small

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
RUN = [ROOT / "README.md", DOCS / "tutorial.md", DOCS / "extend.md"]
"""Pages whose Python is run."""
OTHERS = {"pip", "."}
"""First words of a shell line that are not ours to check."""
FETCHED = re.compile(r'<(?:script|img|iframe)[^>]*src="?(?:https?:)?//[^>]*>|<link[^>]*href="?(?:https?:)?//[^>]*>')
"""What a browser gets from elsewhere when it shows a page."""
TARGETS = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
CELLS = json.loads((ROOT / "notebooks" / "first_words.ipynb").read_text(encoding="utf-8"))["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]


def name(page) -> str:
    return str(page.relative_to(ROOT))


def check(words: list[str]) -> None:
    """Refuse a line that a reader could not type."""
    if words[0] == "make":
        assert set(words[1:]) <= set(TARGETS), words
    elif words[0] == "daxlab":
        command = cli._parse(words[1:])
        level = getattr(command, "level", None)
        # LEVEL stands for any, and a file is the reader's.
        known = level is not None and not level.isupper() and not files.is_file(level)
        if known:
            registry.weights(level)
        if known and isinstance(command, Train) and command.resume is None:
            command.config()
    elif words[0] == "eval":
        check(words[1].strip("$()").split())
    else:
        assert words[0] in OTHERS, words


@pytest.fixture
def little(monkeypatch, tmp_path):
    """A reader in an empty folder, whose agent is small and whose `daxlab train` writes a run but learns nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(config.PRESETS, "desk", lambda: small("dcem_match"))
    monkeypatch.setattr(run, "make_update", no_learning)
    monkeypatch.setattr(loop, "make_update", only_traced)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_shell_line_parses(page):
    for block in blocks(page.read_text()):
        if block.language in ("sh", "bash") and block.mark != "skip":
            for words in commands(block):
                check(words)


@pytest.mark.parametrize("page", RUN, ids=name)
def test_every_python_block_runs(page, little, monkeypatch):
    reader = Reader(monkeypatch)
    found = [block for block in blocks(page.read_text()) if block.language == "python" or block.mark == "run"]
    assert any(block.language == "python" for block in found)
    for block in found:
        if block.language == "python":
            reader.run(block.text, page.name, block.line)
        else:
            for words in commands(block):
                cli.main(smaller(words[1:]))


def test_every_cell_of_the_notebook_runs(little, monkeypatch, tmp_path, capsys):
    """Without Jupyter: the cells are plain Python, run in order."""
    for key, value in (("STEPS", "48"), ("EPISODES", "8"), ("RUN", "runs/notebook")):
        monkeypatch.setenv(f"DAXLAB_NOTEBOOK_{key}", value)
    reader = Reader(monkeypatch)
    before = mpl.get_backend()
    mpl.use("Agg")
    try:
        for cell in CODE:
            reader.run("".join(cell["source"]), cell["id"])
    finally:
        mpl.use(before)
    assert reader.module.last["steps"] == 48
    assert (tmp_path / "runs" / "notebook" / "curve.png").exists()
    said = capsys.readouterr().out
    assert "as it is" in said
    assert "memory cleared" in said


def test_the_notebook_is_kept_without_outputs():
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in CODE)


@pytest.mark.parametrize(
    "line", ["daxlab trian", "daxlab train --sed 3", "daxlab film desk/fast_map", "make tset", "daxlb train"]
)
def test_a_line_that_cannot_be_typed_is_found(line):
    (block,) = blocks(f"```sh\n{line}  # words\n```")
    with pytest.raises((ValueError, AssertionError, SystemExit)):
        check(*commands(block))


def test_marks_and_lines_of_blocks_are_read():
    page = "a\n<!-- test: skip (why) -->\n```sh\nx\n```\n\n```python\ny\n```\n"
    assert blocks(page) == [Block("sh", "skip", "x\n", 4), Block("python", "", "y\n", 8)]


def test_the_nav_holds_every_page():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    listed = set(re.findall(r"[\w/]+\.md", str(nav)))
    assert {str(page.relative_to(DOCS)) for page in PAGES[1:]} <= listed


def test_pages_that_are_not_written_yet_are_left_out_of_the_nav():
    there = runpy.run_path(str(DOCS / "hooks.py"))["there"]
    nav = [{"Home": "index.md"}, {"Later": [{"Not yet": "nowhere.md"}]}, {"Both": ["world.md", "nowhere.md"]}]
    assert there(nav, DOCS) == [{"Home": "index.md"}, {"Both": ["world.md"]}]


def told(value) -> str:
    """A field's value as the table of presets has it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple() | list():
            return " · ".join(map(str, value))
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
    return str(value)


def flat(data, before=()) -> dict[str, str]:
    """Fields and their parts, by name."""
    if not isinstance(data, dict):
        return {".".join(before): told(data)}
    return {name: value for part, x in data.items() for name, value in flat(x, (*before, part)).items()}


def test_the_table_of_presets_names_every_difference_and_no_other():
    page = (ROOT / "docs/deviations.md").read_text().split("## Presets")[1]
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.+) \|$", page, re.MULTILINE))
    paper, *ours = (flat(config.to_json(config.preset(name))) for name in ("paper", "room", "desk"))
    everywhere = {name: [value, *(preset[name] for preset in ours)] for name, value in paper.items()}
    assert rows == {name: " | ".join(each) for name, each in everywhere.items() if len(set(each)) > 1}


def test_the_agents_pages_give_the_counts_of_daxlab_agents():
    for row in agent_table("paper", reconstruction=True):
        for page in ("index", row["agent"]):
            assert f"{row['parameters']:,}" in (DOCS / "agents" / f"{page}.md").read_text(), row


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_within_the_docs_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
        if not target.startswith(("http", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("diagram", DIAGRAMS)
def test_diagrams_are_those_that_the_code_draws(diagram):
    """If not: python -m daxlab.viewer.diagrams docs"""
    assert (DOCS / f"{diagram}.svg").read_text(encoding="utf-8") == DIAGRAMS[diagram]().svg()


def test_the_site_builds_and_needs_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(PAGES) - 1
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = FETCHED.findall(text)
        assert not fetched, f"{page.name}: {fetched}"
        assert 'class="mermaid"' not in text
    assert "make_update" in (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    shutil.rmtree(tmp_path / "site")
