"""The notebook from its first cell to its last, without Jupyter: its code cells are plain Python, run in order.

The world, the run's folder, the evaluation and the probe are real; the agent is small and learns nothing (compiling
the learner is `test_learning_loop.py`'s to pay for).
"""

from __future__ import annotations

import json

import matplotlib as mpl
import pytest

from daxlab.learning import config, run
from tests.blocks import ROOT, Reader
from tests.small import no_learning, small

NOTEBOOK = ROOT / "notebooks" / "first_words.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]


def test_every_cell_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(config.PRESETS, "desk", lambda: small("dcem_match"))
    monkeypatch.setattr(run, "make_update", no_learning)
    for name, value in (("STEPS", "48"), ("EPISODES", "8"), ("RUN", "runs/notebook")):
        monkeypatch.setenv(f"DAXLAB_NOTEBOOK_{name}", value)
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


@pytest.mark.parametrize("cell", CODE, ids=lambda cell: cell["id"])
def test_it_is_kept_without_outputs(cell):
    assert cell["outputs"] == []
    assert cell["execution_count"] is None
