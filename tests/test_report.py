"""What the results say of the paper's claims, on a page and in pictures."""

import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.experiments import chance, claims, figures, findings, grid, ledger, report
from daxlab.experiments.claims import Told
from daxlab.experiments.paper import EXPERIMENTS, experiment
from daxlab.experiments.scales import SCALES, scale
from daxlab.experiments.statistics import Mean
from tests.disk import full_disk


@pytest.mark.parametrize(
    ("said", "ours", "verdict"),
    [
        (Told(value=0.98), None, findings.NOT_RUN),
        (Told(value=0.98), Mean(0.95, 0.94, 0.96, 3), findings.REPRODUCED),
        (Told(value=0.98), Mean(0.91, 0.90, 0.92, 3), findings.NOT),
        (Told(value=0.33), Mean(0.50, 0.45, 0.55, 3), findings.NOT),
        (Told(least=0.9), Mean(0.91, 0.5, 1.0, 3), findings.REPRODUCED),
        (Told(least=0.9), Mean(0.89, 0.5, 1.0, 3), findings.NOT),
        (Told(most=0.5), Mean(0.51, 0.5, 1.0, 3), findings.NOT),
        (Told(words="better"), Mean(0.51, 0.5, 1.0, 3), ""),
        (Told(words="better"), Mean(0.51, 0.51, 0.51, 1), ""),
        (Told(value=0.98), Mean(0.98, 0.98, 0.98, 1), findings.FEW),
        (Told(least=0.9), Mean(0.98, 0.98, 0.98, 1), findings.FEW),
        (Told(most=0.5), Mean(0.98, 0.98, 0.98, 1), findings.FEW),
    ],
)
def test_verdicts(said, ours, verdict):
    assert findings.verdict(said, ours) == verdict


@pytest.fixture
def made_up(tmp_path):
    """Results of one table, partly there: two conditions, one of them with a single seed and one broken."""
    at, of = scale("desk"), experiment("architectures")
    for name, values in {"DCEM mem=1024 + R": [0.97, 0.99], "LSTM": [0.33, 0.35], "DCEM mem=1024": [0.3]}.items():
        for seed, value in enumerate(values):
            run = ledger.cell_of(at, of, of.condition(name), seed, tmp_path)
            run.result.parent.mkdir(parents=True, exist_ok=True)
            lines = [{"steps": s * 10**5, "seconds": s, "success": min(value, s / 10)} for s in range(1, 21)]
            run.curve.write_text("".join(json.dumps(line) + "\n" for line in lines))
            result = {"success": value, "steps": run.config.steps, "seconds": 20.0, "commit": "abc1234", "tests": {}}
            whole_result = result | {"machine": {"device": "a <GPU>"}, "config": grid.to_json(run.config)}
            run.result.write_text(json.dumps(whole_result))
    ledger.cell_of(at, of, of.condition("LSTM"), 2, tmp_path).result.write_text("{")
    return tmp_path


def test_a_mixtures_curve_is_of_its_levels_and_not_of_their_episodes(tmp_path):
    of = experiment("fast_slow")
    run = ledger.cell_of(scale("desk"), of, of.conditions[1], 0, tmp_path)
    weights = run.config.weights
    first, second, third = (f"{level.name}/success" for level in weights)
    log = [
        {"steps": 10, "success": 0.9, first: 1.0, second: 0.0, third: 1.0},
        {"steps": 20, "success": 1.0, first: 1.0, third: 1.0},
    ]
    run.curve.parent.mkdir(parents=True)
    run.curve.write_text("".join(json.dumps(line) + "\n" for line in log))
    share = list(weights.values())[1] / sum(weights.values())
    assert findings.in_training(run) == [
        log[0] | {"success": pytest.approx(1 - share)},
        {"steps": 20, first: 1.0, third: 1.0},
    ]


def test_levels_count_by_their_weights():
    run = SimpleNamespace(config=SimpleNamespace(weights={"a": 3.0, "b": 1.0}))
    assert ledger.of_levels([1.0, 0.0], run) == 0.75


def test_a_report_of_partial_results(made_up):
    found = report.build([scale("desk")], made_up)
    one = found["desk"].found[0]
    rows = {row.name: row for row in one.rows}
    assert rows["DCEM mem=1024 + R"].verdict == findings.REPRODUCED
    assert rows["LSTM"].verdict == findings.REPRODUCED
    assert rows["DNC mem=1024"].verdict == findings.NOT_RUN
    assert rows["DCEM mem=1024"].verdict == findings.FEW
    assert [said for *_, said in one.orders] == [findings.REPRODUCED, findings.FEW, findings.NOT_RUN]
    assert one.orders[0][1] == 1
    assert len(one.refused) == 1
    assert "no result" in one.refused[0]
    head, first, second, *_ = report.overview(found["desk"])
    assert dict(zip(head, first, strict=True)) | {"": ""} == {
        "": "",
        "in the paper": "Table 1",
        findings.REPRODUCED: "3",
        findings.NOT: "",
        findings.FEW: "2",
        findings.NOT_RUN: "8",
    }
    assert second[2:] == ("", "", "", "7")
    page = report.page(found, made_up)
    for text in (
        "<a href='#desk-architectures'>",
        "<h3 id='desk-architectures'>",
        "Table 1",
        "0.980",
        "not yet run",
        "seed-0.jsonl",
        "data:image/png;base64,",
        "no result",
    ):
        assert text in page
    assert "src='http" not in page
    assert re.search(r"<td>abc1234</td><td>a &lt;GPU&gt;</td>.*seed-1\.json'.*seed-1\.jsonl'", page)
    assert "5 runs, with commits and machines" in page
    assert "1.10 M, 11 s" in page


def test_what_an_object_picked_at_random_comes_to_is_played_once_and_told(made_up, monkeypatch):
    at, of = scale("desk"), experiment("corridor")
    rows = [row for row in findings.finding(at, of, made_up).rows if row.name == findings.CHANCE]
    assert [(row.test, row.told.value, row.mean) for row in rows] == [("", 0.5, None), ("novel objects", 0.5, None)]
    monkeypatch.setattr(chance, "EPISODES", 60)
    said = []
    chance.play(at, of, made_up, said.append)
    assert len(said) == 2
    chance.play(at, of, made_up, said.append)
    assert len(said) == 2
    found = findings.finding(at, of, made_up)
    for row in (row for row in found.rows if row.name == findings.CHANCE):
        assert row.mean.low < 0.5 < row.mean.high
        assert row.mean.high - row.mean.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 60), rel=0.1)
        assert row.verdict == ""
        assert "60 episodes" in report.columns(row, found)[5]
    assert findings.CHANCE in report.page({"desk": report.Evidence([found], [])}, made_up)


def test_an_agent_of_ours_is_told_from_the_papers():
    of = experiment("memory")
    agents = {
        at: {row.name: row.agent for row in findings.finding(scale(at), of, Path("nowhere")).rows} for at in SCALES
    }
    assert {told["DCEM, mem=20"] for told in agents.values()} == {"dcem_match", "dcem + R"}
    assert agents["paper"]["TransformerXL, mem=20"] == agents["desk"]["TransformerXL, mem=20"] == "gtrxl + R"


def test_the_tables_go_between_the_marks_of_a_page(made_up, tmp_path):
    doc = tmp_path / "results.md"
    doc.write_text("before\n")
    found = report.build([scale("desk")], made_up)
    with pytest.raises(DaxlabError, match="once each"):
        report.write_doc(doc, found)
    assert doc.read_text() == "before\n"
    doc.write_text(f"before\n{report.BEGIN}\nstale\n{report.END}\nafter\n")
    report.write_doc(doc, found)
    text = doc.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert "| LSTM | lstm | training | 0.33 (0.05) | 0.340 (" in text
    assert "| DCEM mem=1024 | dcem | training | 0.33 (0.02) | 0.300 | 0.300 |" in text
    assert "abc1234; a <GPU>" in text
    assert "Not yet run: number, novel," in text
    assert "](figures/desk-architectures.png)" in text
    pictures = [path.name for path in (tmp_path / "figures").iterdir()]
    assert pictures == ["desk-architectures.png"]
    assert (tmp_path / "figures" / pictures[0]).read_bytes().startswith(b"\x89PNG")


def test_commands_that_only_look(made_up, tmp_path, capsys):
    main(["paper", "list", "--results", str(made_up), "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["architectures"]["desk"] == "5 of 33"
    assert (rows["architectures"]["where"], rows["architectures"]["paper"]) == ("Table 1", "0 of 55")
    main(["paper", "status", "architectures", "--results", str(made_up), "--work", str(tmp_path / "w"), "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert {row["steps"] for row in rows if row["state"] == "new"} == {"0.00 of 2 M"}
    states = [row["state"] for row in rows]
    assert (states.count("finished"), states.count("refused"), states.count("new")) == (5, 1, 27)
    main(["paper", "report", "--results", str(made_up), "--out", str(tmp_path / "r.html"), "--scale", "desk"])
    assert "reproduced" in capsys.readouterr().out
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_results_of_what_no_condition_is_any_more_are_named_and_kept(made_up, tmp_path, capsys):
    mine = next(made_up.glob("desk/*lstm*/seed-0.json"))
    for name, text in (("made-of-old", mine.read_text()), ("broken", "[")):
        old = made_up / "desk" / name / "seed-0.json"
        old.parent.mkdir()
        old.write_text(text)
    (made_up / "desk/made-of-old/seed-1.json").write_text(mine.read_text())
    one, other = ledger.strays(scale("desk"), made_up)
    assert one.startswith(f"{made_up}/desk/broken (1 of a commit that cannot be read) is of no condition")
    assert other.startswith(f"{made_up}/desk/made-of-old (2 of commit abc1234) is of no condition")
    assert not ledger.strays(scale("lite"), made_up)
    evidence = report.build([scale("desk")], made_up)
    for page in (report.page(evidence, made_up), report.markdown(evidence, made_up)):
        assert page.count("is of no condition as they are now") == 2
    main(["paper", "list", "--results", str(made_up)])
    assert capsys.readouterr().out.endswith(f"{one}\n{other}\n")
    assert old.read_text() == "["


def test_the_repositorys_own_page_is_of_its_own_results(made_up, tmp_path, monkeypatch, capsys):
    """And is written whenever those are reported whole."""
    monkeypatch.chdir(tmp_path)
    doc, blank = Path("docs/results.md"), f"{report.BEGIN}\n{report.END}\n"
    doc.parent.mkdir()
    doc.write_text(blank)
    main(["paper", "report", "--results", str(made_up)])
    Path("results").mkdir()
    Path("results/paper").symlink_to(made_up)
    main(["paper", "report", "--scale", "desk"])
    assert doc.read_text() == blank
    main(["paper", "report"])
    assert "| LSTM | lstm | training | 0.33 (0.05) | 0.340 (" in doc.read_text()
    assert "wrote docs/results.md" in capsys.readouterr().out


def test_a_page_that_the_disk_has_no_room_for_is_not_begun(made_up, tmp_path, capsys):
    out = tmp_path / "pages" / "r.html"
    with full_disk(), pytest.raises(SystemExit) as stop:
        main(["paper", "report", "--results", str(made_up), "--scale", "desk", "--out", str(out)])
    assert stop.value.code == 2
    assert "File too large" in capsys.readouterr().err
    assert not list(out.parent.iterdir())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_picture_shows_every_condition_and_every_test(name, made_up):
    of = experiment(name)
    picture = figures.draw(findings.finding(scale("desk"), of, made_up))
    assert picture.startswith(b"\x89PNG")
    shown = {condition for panel in of.panels for condition, _ in panel.shown}
    asked = {test for panel in of.panels for test in panel.tests}
    if of.panels:
        assert shown == {condition.name for condition in of.conditions}
        assert asked == {test.name for condition in of.conditions for test in condition.tests}


@pytest.mark.parametrize("name", ["architectures", "categories", "corridor"])
def test_the_papers_values_are_named_once(name, made_up, monkeypatch):
    """Also where it has none for the first of several tests."""
    seen = []
    monkeypatch.setattr(figures, "_head", lambda axes, panel: seen.append(axes))
    figures.draw(findings.finding(scale("desk"), experiment(name), made_up))
    assert [axes.get_legend_handles_labels()[1].count("the paper") for axes in seen] == [0, 1]


def test_a_panels_bars_are_its_own_conditions(made_up, monkeypatch):
    """Which bar is drawn where, and how high."""
    of = dataclasses.replace(
        experiment("architectures"),
        panels=(
            claims.Panel("one", (("LSTM", "short"), ("DCEM mem=1024 + R", "long")), (claims.TRAINING,)),
            claims.Panel("two", (("DNC mem=1024", "none"),), (claims.TRAINING,)),
        ),
    )
    seen = []
    monkeypatch.setattr(figures, "_head", lambda axes, panel: seen.append(axes))
    figures.draw(findings.finding(scale("desk"), of, made_up))
    assert [bar.get_height() for bar in seen[0].patches] == pytest.approx([0.34, 0.98])
    assert [text.get_text() for text in seen[0].get_xticklabels()] == ["short", "long"]
    assert [tuple(line.get_ydata()) for line in seen[0].lines if line.get_marker() == "D"] == [(0.33, 0.98)]
    assert not seen[1].patches


def test_orders_are_between_conditions_that_exist():
    of = experiment("slow")
    wrong = dataclasses.replace(of, orders=(claims.Order("LSTM", "GRU"),))
    with pytest.raises(DaxlabError, match="unknown condition"):
        findings.finding(scale("desk"), wrong)
