"""The clocks of training: what each mode does, what the reports hold, how they refuse. No test looks at a time.

The world is stood in for by a small one, as its own would take a minute to compile: rooms with nothing but a clock.
"""

from __future__ import annotations

import contextlib
import io
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.agents.agent import partition
from daxlab.bench import arithmetic, parts, report, scaling, timing
from daxlab.bench.device import Rates, rates_of
from daxlab.bench.train import MODES, Acting, bench_train, make_program, sizes
from daxlab.cli import main
from daxlab.cli_bench import BenchTrain
from daxlab.errors import DaxlabError
from daxlab.learning import loop
from daxlab.learning.config import change, preset, to_json, with_agent
from daxlab.levels import env as environment
from daxlab.levels.env import Env, Rooms

SIZES = {
    "agent__vision__channels": (4,),
    "agent__vision__blocks": (0,),
    "agent__vision__strides": (8,),
    "agent__vision__embedding": 8,
    "agent__vision__fovea": 0,
    "agent__latent": 8,
    "agent__lstm": 8,
    "agent__reconstruction": True,
    "rooms": 4,
    "unroll": 3,
    "minibatch": 2,
}
CONFIG = change(with_agent(preset("desk"), "lstm"), **SIZES)


@pytest.fixture(scope="module", autouse=True)
def small_world():
    """Rooms in which nothing moves but the clock, and whose pictures show it."""
    real = environment.start
    shape: dict = {}

    def start(level, key):
        if level not in shape:
            shape[level] = jax.eval_shape(lambda key: real(level, key), jax.ShapeDtypeStruct((2,), jnp.uint32))
        blank = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shape[level])
        return blank._replace(key=key)

    def picture(self, state):
        return jnp.full((self.height, self.width, 3), state.clock + 1, jnp.uint8)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "start", start)
        patch.setattr(environment, "advance", lambda level, state, controls: state._replace(clock=state.clock + 1))
        patch.setattr(Env, "picture", picture)
        yield


@pytest.fixture(scope="module")
def rooms():
    return Rooms(Env(CONFIG.level), CONFIG.rooms)


@pytest.fixture(scope="module")
def measured():
    """What the command prints."""
    nested = {name.replace("__", "."): value for name, value in SIZES.items() if "__" in name}
    flags = ["--level", CONFIG.level, "--preset", "desk", "--agent", "lstm", "--rooms", "4", "--unroll", "3"]
    flags += ["--minibatch", "2", "--seconds", "0.001", "--repeats", "2", "--no-cold", "--json"]
    flags += ["--modes", *MODES[:-1]]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(["bench", "train", *flags, "--set", *(f"{name}={json.dumps(value)}" for name, value in nested.items())])
    return json.loads(printed.getvalue())


def weights_of(state):
    return jax.tree.leaves(jax.device_get(partition(state.agent)[0]))


def test_each_mode_does_what_the_one_before_it_does_and_one_part_more(rooms, monkeypatch):
    programs = {mode: make_program(mode, CONFIG, rooms) for mode in MODES}
    weights = weights_of(programs["acting"].state)
    after = {mode: programs[mode].function(programs[mode].state) for mode in ("world", "pixels", "acting")}
    for state, _ in after.values():
        world = state.actor.rooms if hasattr(state, "actor") else state.rooms
        np.testing.assert_array_equal(world.clock, CONFIG.unroll)

    # Pixels: every one of every step is looked at.
    seen = sum(CONFIG.rooms * (t + 1) for t in range(1, CONFIG.unroll + 1))
    assert float(after["world"][0].seen) == 0
    assert float(after["pixels"][0].seen) == seen * 3 * rooms.env.height * rooms.env.width
    acted = after["acting"][1].observation.rgb[:, :, 0, 0, 0]
    np.testing.assert_array_equal(acted, np.arange(1, CONFIG.unroll + 2)[:, None].repeat(CONFIG.rooms, 1))

    # Acting leaves the weights as they are.
    assert np.any(jax.device_get(after["acting"][0].actor.memory.core.h))
    assert all(map(np.array_equal, weights, weights_of(after["acting"][0])))

    # Learning acts, and learns from what was acted.
    acting = loop.act
    called = []
    monkeypatch.setattr(loop, "act", lambda *given: called.append("act") or acting(*given))
    monkeypatch.setattr(
        loop,
        "learn",
        lambda config, rooms, begin, acted, *_: called.append(acted) or (begin.agent, begin.optimiser, {}),
    )
    jax.eval_shape(programs["learning"].function, programs["learning"].state)
    assert len(called) == 2
    assert called[0] == "act"
    assert called[1].observation.rgb.shape == after["acting"][1].observation.rgb.shape


def test_the_report_names_what_was_measured_and_its_parts_add_up(measured):
    assert tuple(measured["modes"]) == MODES[:-1]
    assert BenchTrain().modes == MODES
    assert measured["config"] == json.loads(json.dumps(to_json(CONFIG)))
    named = [measured[name] for name in ("level", "agent", "rooms", "unroll", "minibatch", "picture")]
    assert named == [CONFIG.level, "lstm", 4, 3, 2, list(CONFIG.spec.picture)]
    total = 0.0
    for row in measured["modes"].values():
        low, high = row["spread"]
        assert 0 < low <= row["steps_per_second"] <= high
        total += row["part_milliseconds"]
        assert row["milliseconds"] == pytest.approx(total)
        assert row["milliseconds"] > 0
        assert row["peak_bytes"] >= row["program_bytes"] > 0
        assert row["compile"]["seconds"] >= row["compile"]["trace_seconds"] >= 0


def test_steps_and_milliseconds_are_of_the_same_clock(tmp_path):
    out = tmp_path / "new" / "report.json"
    report = bench_train(CONFIG, modes=("world",), seconds=0.001, repeats=1, cold=False, out=out)
    row = report["modes"]["world"]
    assert json.loads(out.read_text())["modes"] == report["modes"]
    assert row["steps_per_second"] * row["milliseconds"] == pytest.approx(1e3 * CONFIG.rooms, rel=1e-3)


def test_a_room_keeps_its_world_its_picture_and_a_row_of_memory_for_each_row(measured):
    def kept(rows):
        config = change(with_agent(CONFIG, "dcem"), agent__memory__size=rows, agent__memory__k=2)
        rooms = Rooms(Env(config.level), config.rooms)
        agent = loop.new_agent(config, rooms.env, jax.random.key(0))
        actor = jax.eval_shape(lambda: loop.start_actor(rooms, agent, jax.random.key(0)))
        return sizes(Acting(agent, actor, None))["room_bytes"]

    agent = CONFIG.agent
    assert kept(10) - kept(9) == 4 * (agent.language.embedding + agent.vision.embedding + 1)
    assert measured["room_bytes"] > 3 * np.prod(CONFIG.spec.picture)


def test_compiling_twice_finds_the_program_on_disk_and_gives_the_cache_back():
    before = jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs
    compiled, seconds = timing.compile_program(jax.jit(lambda x: x * 3 + 1), jnp.ones(3))
    np.testing.assert_array_equal(compiled(jnp.ones(3)), 4)
    assert seconds["from_cache_seconds"] is not None
    assert seconds["cold_seconds"] >= seconds["trace_seconds"]
    assert before == (jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs)


def test_a_program_that_cannot_be_kept_has_no_time_from_cache():
    def shout(x):
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    _, seconds = timing.compile_program(jax.jit(shout), jnp.ones(3))
    assert seconds["from_cache_seconds"] is None


def test_every_piece_takes_the_arguments_it_is_given(rooms):
    agent = make_program("acting", CONFIG, rooms).state.agent
    table = arithmetic.table(CONFIG)
    for name, make in parts.Pieces(CONFIG, rooms, agent).every().items():
        piece = make()
        assert jax.tree.leaves(jax.eval_shape(piece.function, *piece.arguments)), name
        assert set(piece.work) <= set(table), name
        assert piece.steps == table[piece.work[0]].counted, name


def test_the_figures_of_a_piece_agree_with_each_other():
    rates = Rates(1e9, 2e9, 3e9)
    names = ("encoder forward", "gather")
    rows = dict(parts.bench_parts(CONFIG, names=names, seconds=0.001, repeats=1, rates=rates))
    assert tuple(rows) == names
    for name, row in rows.items():
        bound = max(row["operations"] / rates.float32, row["bytes"] / rates.bytes)
        assert row["bound_milliseconds"] == pytest.approx(1e3 * CONFIG.rooms * bound), name
        assert row["share_of_bound"] == pytest.approx(row["bound_milliseconds"] / row["milliseconds"]), name
        assert row["bytes_per_second"] == pytest.approx(row["share_of_bound"] * row["bytes"] / bound), name
        a_step = row["call_milliseconds"] / (CONFIG.minibatch * CONFIG.unroll)
        assert row["milliseconds"] == pytest.approx(CONFIG.rooms * a_step), name
    with pytest.raises(DaxlabError, match="did you mean optimiser"):
        list(parts.bench_parts(CONFIG, names=("optimizer",)))


def test_scaling_goes_on_where_it_stopped_and_keeps_what_failed(tmp_path, monkeypatch):
    out = tmp_path / "new" / "table.json"
    few = [point for point in scaling.points(CONFIG) if point.name in ("base", "rooms 256", "objects 1")]
    few = [few[0]._replace(modes=("world",)), few[1]._replace(modes=("pixels",)), few[2]]
    broken = few[0]._replace(name="memory 0", config=None)
    monkeypatch.setattr(scaling, "points", lambda config: [few[0], few[1], few[2], broken])
    monkeypatch.setattr(scaling, "_describe", lambda point: {"name": point.name, "modes": {}})
    assert scaling.scaling(-1, out, CONFIG)["left_out"] == ["base", "rooms 256", "objects 1", "memory 0"]
    table = scaling.scaling(600, out, CONFIG, seconds=0.001, repeats=1)
    assert json.loads(out.read_text()) == table
    assert not list(out.parent.glob("*.part"))
    assert [line["name"] for line in table["lines"]] == ["base", "rooms 256", "objects 1", "memory 0"]
    assert "failed" in table["lines"][3]
    assert not table["left_out"]
    assert scaling.scaling(600, out, CONFIG, seconds=0.001, repeats=1) == table
    with pytest.raises(DaxlabError, match="another config"):
        scaling.scaling(600, out, change(CONFIG, rooms=8))
    out.write_text("{}")
    with pytest.raises(DaxlabError, match="no table"):
        scaling.scaling(600, out, CONFIG)


def test_the_lines_of_the_table_differ_from_the_base_in_one_thing():
    found = {point.name: point for point in scaling.points(scaling.base())}
    described = {name: scaling._describe(point) for name, point in found.items()}
    base = described.pop("base")
    for name, line in described.items():
        other = {key for key in base if key not in ("name", "modes") and line[key] != base[key]}
        assert other - {"triangles"} == set() if name.startswith("triangles") else name.split()[0] in other, name
        assert len(other - {"triangles"}) <= 1, name
    assert {int(name.split()[1]) for name in found if name.startswith("rooms")} | {2048} == set(scaling.ROOMS)
    assert {name.split()[1] for name in found if name.startswith("agent")} == {"lstm", "dnc", "dcem_match", "gtrxl"}


def test_growth_and_tables_of_made_up_figures(tmp_path):
    def line(name, rooms, milliseconds):
        row = {"steps_per_second": round(1e3 * rooms / milliseconds), "milliseconds": milliseconds, "program_bytes": 1}
        return {"name": name, "rooms": rooms, "unroll": 1, "minibatch": 1, "modes": {"pixels": row}}

    lines = [line("rooms 4", 4, 9.0), line("base", 2, 3.0), line("rooms 1", 1, 1.0)]
    # What only the base was timed with has no column, and its memory does not count.
    lines[1]["modes"]["learning"] = {"steps_per_second": 1, "milliseconds": 1.0, "program_bytes": 5 * 10**9}
    table = {"lines": lines, "device": "cpu", "base": {"agent": {"core": "lstm"}}}
    assert report.growth(table, "rooms", "pixels") == pytest.approx(np.log2(3))
    assert np.isnan(report.growth(table, "rooms", "acting"))
    text = report.markdown(table)
    assert text.splitlines()[0] == "| rooms | pixels, steps/s | memory of the program, GB | a room keeps, MB |"
    assert [row.split(" | ")[:2] for row in text.splitlines()[2:]] == [["| 1", "1,000"], ["| 2", "667"], ["| 4", "444"]]
    assert "5.00" not in text
    report.plot(table, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_the_device_has_rates(capsys):
    main(["bench", "device", "--copy-bytes", "4096", "--matrix", "8", "--seconds", "0.001", "--repeats", "1", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert min(rates_of(printed)) > 0
    assert (printed["copy_bytes"], printed["matrix"]) == (4096, 8)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["train", "--agent", "dcme"], "did you mean dcem"),
        (["train", "--preset", "papr"], "did you mean paper"),
        (["train", "--rooms", "6", "--minibatch", "4"], "does not divide the 6 rooms"),
        (["train", "--set", "agent.memry.size=3"], "did you mean memory"),
        (["train", "--modes", "pixel"], "did you mean pixels"),
        (["train", "--seconds", "0"], "more than 0"),
        (["device", "--repeats", "0"], "more than 0"),
        (["device", "--matrix", "-1"], "1×1 matrix"),
    ],
)
def test_bad_input_is_one_sentence(capsys, arguments, says):
    with pytest.raises(SystemExit) as stop:
        main(["bench", *arguments])
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert says in said
    assert len(said.splitlines()) == 1
