"""Laws of the ShapeNetSem importer, on a small folder of that layout with good models and every kind of bad one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from daxlab.assets import shapenet
from daxlab.assets.categories import CATEGORIES
from daxlab.assets.mesh import MAX_FACES, Mesh
from daxlab.assets.shapenet import convert, obj, paint, store
from daxlab.assets.shapenet.folder import Folder, Skipped
from daxlab.assets.shapenet.metadata import category
from daxlab.assets.shapenet.report import Report
from daxlab.assets.shapenet.simplify import Surface, _edges, _places, _quadrics, simplify
from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.render import render
from daxlab.viewer.sheet import view_scene
from tests.disk import full_disk
from tests.sem import (
    BLUE,
    CORNERS,
    CUBE,
    GREEN,
    RED,
    SECRET,
    SIDES,
    WHITE,
    Sem,
    bad_models,
    box,
    good_models,
    text_of,
)
from tests.test_assets import areas, assert_closed_and_outward


def volume(mesh: Mesh) -> float:
    return float(np.linalg.det(mesh.vertices[mesh.faces].astype(float)).sum() / 6)


def facing(mesh: Mesh, towards: tuple[float, float, float]) -> np.ndarray:
    """The colours of faces that look that way."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    return mesh.colours[normal @ np.array(towards) > 0.95 * np.linalg.norm(normal, axis=1)]


class Result:
    """The folder, what the import said, the meshes by id, and every path that was opened meanwhile."""

    def __init__(self, sem: Sem, outside: Path, report: Report, opened: list[str]) -> None:
        self.sem, self.outside, self.report, self.opened = sem, outside, report, opened
        self.meshes = {model.id: model.mesh for model in store.load(store.store_file())}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Result]:
    base = tmp_path_factory.mktemp("shapenet")
    outside = base / "outside"
    outside.mkdir()
    (outside / "secret.obj").write_text(box((1, 1, 1), dict.fromkeys(SIDES, "secret"), "secret.mtl"))
    r, g, b = SECRET
    (outside / "secret.mtl").write_text(f"newmtl white\nKd {r} {g} {b}\nnewmtl secret\nKd {r} {g} {b}\n")
    Image.new("RGB", (8, 8), tuple(round(255 * c) for c in SECRET)).save(outside / "secret.png")
    sem = Sem(base / "ShapeNetSem")
    good_models(sem)
    bad_models(sem, outside)
    sem.write()
    opened, watching = [], [True]

    def watch(event: str, arguments: tuple) -> None:
        if watching and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            opened.append(os.path.realpath(os.fsdecode(arguments[0])))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAXLAB_CACHE", str(base / "cache"))
        sys.addaudithook(watch)  # there is no way to take a hook away; it is told to sleep
        try:
            report = shapenet.import_folder(sem.root)
        finally:
            watching.clear()
        yield Result(sem, outside, report, opened)


GOOD = {
    "chair": "chair",
    "bottle": "bottle",
    "ball": "vase",
    "mug": "mug",
    "inside-out": "sofa",
    "book": "book",
    "rug": "rug",
    "odd": "coffee table",
}


def test_every_good_model_is_imported_under_the_papers_class(result: Result) -> None:
    assert {m.id: m.category for m in store.load(store.store_file())} == GOOD
    assert result.report.imported == dict.fromkeys(GOOD.values(), 1)
    assert result.report.other == 2


def test_every_bad_model_has_its_line_in_the_report(result: Result) -> None:
    lines = (store.store_file().with_name("report.txt")).read_text().splitlines()
    for name, reason in result.sem.expected.items():
        found = [line for line in lines if line.startswith(f"'{name}' ")]
        assert len(found) == 1, name
        assert reason in found[0]
    assert [line for line in lines if "twice" in line] == ["'chair' stands in metadata.csv twice; the first counts"]
    assert len(lines) == 1 + len(result.sem.expected) + 1
    assert all(line.isprintable() for line in lines)


def test_nothing_outside_the_folder_is_opened_or_shows(result: Result) -> None:
    models = [path for path in result.opened if path.startswith(str(result.sem.root))]
    assert any(path.endswith("cover.png") for path in models)
    assert not [path for path in result.opened if path.startswith(str(result.outside))]
    for mesh in result.meshes.values():
        assert (np.abs(mesh.colours - SECRET).max(axis=1) > 0.1).all()


def test_no_model_made_the_importer_fail(result: Result) -> None:
    assert not [line for line in result.report.lines() if "made the importer fail" in line]


@pytest.mark.parametrize("name", GOOD)
def test_meshes_are_ours(result: Result, name: str) -> None:
    mesh = result.meshes[name]
    assert len(mesh.faces) <= MAX_FACES
    assert set(np.unique(mesh.faces)) == set(range(len(mesh.vertices)))
    np.testing.assert_allclose(mesh.vertices.max(axis=0), -mesh.vertices.min(axis=0), atol=1e-5)
    assert 0.2999 <= np.ptp(mesh.vertices, axis=0).max() <= 0.5001
    assert mesh.radius <= 0.2601
    assert mesh.half_height >= 0.0149
    assert areas(mesh).min() > 0


def test_unit_up_and_front_are_applied(result: Result) -> None:
    chair = result.meshes["chair"]
    np.testing.assert_allclose(np.ptp(chair.vertices, axis=0), (0.2, 0.3, 0.5), atol=1e-5)
    assert_closed_and_outward(chair.vertices, chair.faces)
    for towards, colour in (((0, 0, 1), GREEN), ((0, 0, -1), BLUE), ((0, -1, 0), RED), ((0, 1, 0), WHITE)):
        colours = facing(chair, towards)
        assert len(colours) == 2
        np.testing.assert_allclose(colours, [colour] * 2, atol=1e-6)


def test_a_thing_keeps_its_real_size_where_that_can_be_lifted(result: Result) -> None:
    np.testing.assert_allclose(np.ptp(result.meshes["bottle"].vertices, axis=0), (0.1, 0.12, 0.35), atol=1e-5)
    np.testing.assert_allclose(np.ptp(result.meshes["mug"].vertices, axis=0), (0.25, 0.25, 0.3), atol=1e-3)
    rug = np.ptp(result.meshes["rug"].vertices, axis=0)
    assert rug[2] == pytest.approx(convert.THINNEST)
    assert rug[0] / rug[1] == pytest.approx(1.5, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "true", "extent"),
    [
        ("ball", 4 / 3 * np.pi * 0.2**3, (0.4, 0.4, 0.4)),
        ("inside-out", 4 / 3 * np.pi * 0.2**3, (0.4, 0.4, 0.4)),
        ("mug", np.pi * (2.4 - 0.81 * 2.3) * 0.125**3, (0.25, 0.25, 0.3)),
        ("bottle", 0.1 * 0.12 * 0.35, (0.1, 0.12, 0.35)),
    ],
)
def test_decimation_keeps_volume_and_extent(result: Result, name: str, true: float, extent: tuple) -> None:
    """Counter-clockwise from outside: a mesh wound the other way has a negative volume."""
    assert volume(result.meshes[name]) == pytest.approx(true, rel=0.1)
    np.testing.assert_allclose(np.ptp(result.meshes[name].vertices, axis=0), extent, atol=1e-3)


def test_decimation_keeps_colours_apart(result: Result) -> None:
    ball = result.meshes["ball"]
    middle = ball.vertices[ball.faces].mean(axis=1)[:, 2]
    np.testing.assert_allclose(ball.colours[middle < -0.07], [RED] * (middle < -0.07).sum(), atol=0.02)
    np.testing.assert_allclose(ball.colours[middle > 0.07], [BLUE] * (middle > 0.07).sum(), atol=0.02)


def test_faces_take_the_mean_colour_of_their_part_of_the_picture(result: Result) -> None:
    book = result.meshes["book"]
    sides = {(-1, 0, 0): RED, (1, 0, 0): GREEN, (0, -1, 0): WHITE, (0, 1, 0): BLUE, (0, 0, 1): BLUE}
    for towards, colour in sides.items():
        np.testing.assert_allclose(facing(book, towards), [colour] * 2, atol=0.02)
    corners = np.array([[0, 0], [1, 0], [1, 1]], float)
    picture = np.concatenate([np.zeros((64, 32, 4)), np.ones((64, 32, 4))], axis=1)
    picture[..., 3] = 1
    mean = paint._mean_colour(picture, corners, np.array([[0, 1, 2], [-1, -1, -1]]))
    np.testing.assert_allclose(mean, [[0.75] * 3, [0.5] * 3], atol=0.03)


def test_sheets_are_drawn_from_both_sides_and_insides_are_dropped() -> None:
    """The renderer draws fronts alone."""
    x, y = (a.ravel() for a in np.meshgrid(np.linspace(-0.2, 0.2, 7), np.linspace(-0.2, 0.2, 7)))
    k = (np.arange(6)[:, None] * 7 + np.arange(6)).ravel()
    faces = np.concatenate([np.stack(f, -1) for f in ((k, k + 1, k + 8), (k, k + 8, k + 7))])
    sheet = from_arrays(np.stack([x, 0.3 * x**2, y], -1), faces)
    assert len(facing(sheet, (0, 1, 0))) == len(facing(sheet, (0, -1, 0))) > 0
    outer, inner = np.array(CORNERS) * 0.4, np.array(CORNERS) * 0.2
    quads = np.array(list(SIDES.values())) - 1
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    nested = from_arrays(np.concatenate([outer, inner]), np.concatenate([faces, faces + 8]))
    assert len(nested.faces) == 12
    assert_closed_and_outward(nested.vertices, nested.faces)


def from_arrays(vertices: np.ndarray, faces: np.ndarray) -> Mesh:
    model = obj.read_obj(text_of(vertices, faces).encode())
    item = shapenet.Entry("x", "chair", 1.0, (0, 0, 1), (0, -1, 0))
    return convert.to_mesh(item, model, np.full((len(model.faces), 3), 0.5))


@pytest.mark.parametrize("most", [1, 2, 7, 50])
def test_every_budget_is_kept_for_any_heap_of_triangles(most: int) -> None:
    rng = np.random.default_rng(most)
    heap = Surface(rng.normal(size=(90, 3)), rng.integers(0, 90, (200, 3)), rng.random((200, 3)))
    weight = rng.integers(1, 3, 200)
    few, weight = simplify(heap, most, weight)
    assert weight.sum() <= most
    assert len(weight) == len(few.faces) == len(few.colours)
    assert np.isfinite(few.vertices).all()


def test_collapses_keep_outlines_and_colour_borders() -> None:
    """A square metre of flat ground, red where x < 0, else blue."""
    x, y = (a.ravel() for a in np.meshgrid(np.linspace(-0.5, 0.5, 21), np.linspace(-0.5, 0.5, 21)))
    k = (np.arange(20)[:, None] * 21 + np.arange(20)).ravel()
    faces = np.concatenate([np.stack(f, -1) for f in ((k, k + 1, k + 22), (k, k + 22, k + 21))])
    vertices = np.stack([x, y, 0 * x], -1)
    ground = Surface(vertices, faces, np.where(vertices[faces].mean(axis=1)[:, :1] < 0, RED, BLUE))
    few, _ = simplify(ground, 8)
    assert few.areas.sum() == pytest.approx(1.0, abs=0.02)
    assert few.areas[few.colours[:, 0] == 1].sum() == pytest.approx(0.5, abs=0.02)


def test_collapses_turn_no_face_round() -> None:
    """A flat gear wheel: any point of the plane costs nothing, but teeth would fold over."""
    k = np.arange(120)
    radius, angle, after = np.where(k // 3 % 2, 0.25, 0.5), k * np.pi / 60, (k + 1) % 120
    rim = radius[:, None] * np.stack([np.cos(angle), np.sin(angle), 0 * angle], -1)
    rings = ((k, after, after + 120), (k, after + 120, k + 120), (k + 120, after + 120, 0 * k + 240))
    faces = np.concatenate([np.stack(ring, -1) for ring in rings])
    gear = Surface(np.concatenate([rim, 0.4 * rim, np.zeros((1, 3))]), faces, np.zeros((360, 3)))
    few, _ = simplify(gear, 60)
    assert (few.normals[:, 2] > -1e-9).all()
    assert few.areas.sum() == pytest.approx(gear.areas.sum(), rel=0.1)


def test_an_edge_shrinks_to_a_point_near_it() -> None:
    """Two nearly equal planes meet far away."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        heap = Surface(rng.random((30, 3)) * (1, 1, 0.2), rng.integers(0, 30, (40, 3)), np.zeros((40, 3)))
        edges = _edges(heap.faces)[0]
        place, cost = _places(heap.vertices, _quadrics(heap), edges)
        ends = heap.vertices[edges]
        off = np.linalg.norm(place - ends.mean(axis=1), axis=1)
        assert (off <= np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) + 1e-9).all()
        assert (cost >= 0).all()


@pytest.mark.parametrize(
    ("labels", "lemma", "expected"),
    [
        ("Chair,Recliner", "", "chair"),
        ("Table,CoffeeTable", "table", "coffee table"),
        ("_Attributes", "chest of drawers,chest,bureau", "chest of drawers"),
        ("Speaker", "", "loudspeaker"),
        ("Lamp,FloorLamp,_SceneGalleryModels", "", "floor lamp"),
        ("BunkBed", "bed", "bunk bed"),
        ("Chair,_BAD", "", None),
        ("Airplane", "airplane", None),
        ("", "", None),
    ],
)
def test_classes(labels: str, lemma: str, expected: str | None) -> None:
    assert category({"category": labels, "wnlemmas": lemma}) == expected


def test_every_class_can_be_found_by_its_label_and_by_its_lemma() -> None:
    for name in CATEGORIES:
        label = name.title().replace(" ", "")
        assert category({"category": label, "wnlemmas": ""}) == name
        assert category({"category": "", "wnlemmas": f"{name},thing"}) == name


def test_too_many_triangles_or_vertices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obj, "MAX_TRIANGLES", 11)
    with pytest.raises(Skipped, match="more than 11 triangles"):
        obj.read_obj(CUBE.encode())
    monkeypatch.setattr(obj, "MAX_VERTICES", 7)
    with pytest.raises(Skipped, match="more than 7 vertices"):
        obj.read_obj(CUBE.encode())


def test_damaged_files_are_read_or_skipped(result: Result) -> None:
    """Bytes of sound files at random places changed, doubled or cut away: nothing but `Skipped` comes out."""
    rng = np.random.default_rng(0)
    sources = [(result.sem.models / name).read_bytes() for name in ("book.obj", "chair.obj", "book.mtl")]
    picture = (result.sem.textures / "cover.png").read_bytes()
    target = result.sem.textures / "damaged.png"
    outcomes = set()
    for i in range(400):
        data = bytearray((*sources, picture)[i % 4])
        for place in rng.integers(0, len(data), rng.integers(1, 6)):
            data[place : place + rng.integers(0, 3)] = bytes(rng.integers(0, 256, rng.integers(0, 4), np.uint8))
        try:
            if i % 4 < 2:
                model = obj.read_obj(bytes(data))
                assert model.faces.min() >= 0
                if i < 40:
                    item = shapenet.Entry("x", "chair", 0.4, (0, 0, 1), (0, -1, 0))
                    convert.to_mesh(item, model, np.zeros((len(model.faces), 3)))
            elif i % 4 == 2:
                obj.read_mtl(bytes(data))
            else:
                target.write_bytes(data)
                paint._picture("damaged.png", Folder.at(result.sem.root), "models-OBJ/models")
            outcomes.add((i % 4, True))
        except Skipped:
            outcomes.add((i % 4, False))
    target.unlink()
    assert {(0, True), (0, False), (1, True), (1, False), (3, False)} <= outcomes


def test_a_second_import_takes_what_did_not_change(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("made anew")

    monkeypatch.setattr(shapenet, "to_mesh", fail)
    report = shapenet.import_folder(result.sem.root)
    assert report.imported == result.report.imported
    assert [name for name, _ in report.skipped] == [name for name, _ in result.report.skipped]
    for model in store.load(store.store_file()):
        np.testing.assert_array_equal(model.mesh.vertices, result.meshes[model.id].vertices)
    kept = store.store_file().read_bytes()
    with pytest.raises(DaxlabError, match=r"no model .* could be imported"):
        shapenet.import_folder(result.sem.root, again=True)
    assert store.store_file().read_bytes() == kept


def test_the_file_is_whole_or_not_there(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models, file = store.load(store.store_file()), tmp_path / "meshes.safetensors"
    store.save(models[:2], file)
    before = file.read_bytes()

    def stop(arrays: object, path: Path, **_: object) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "save_file", stop)
    with pytest.raises(KeyboardInterrupt):
        store.save(models, file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_is_a_sentence_and_leaves_the_file_as_it_was(result: Result, tmp_path: Path) -> None:
    models, file = store.load(store.store_file()), tmp_path / "meshes.safetensors"
    store.save(models[:2], file)
    before = file.read_bytes()
    with full_disk(100), pytest.raises(DaxlabError, match="what was there is as it was"):
        store.save(models, file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("keep", [0, 7, 200, 0.9])
def test_a_damaged_store_is_a_sentence(result: Result, tmp_path: Path, keep: float) -> None:
    data = store.store_file().read_bytes()
    file = tmp_path / "meshes.safetensors"
    file.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(DaxlabError, match="import again"):
        store.load(file)


def test_the_bank_holds_them_class_after_class(result: Result) -> None:
    everything = shapenet.bank()
    assert everything is shapenet.bank()
    assert set(everything.names) == {f"{name} 0" for name in GOOD.values()}
    two = shapenet.bank(("vase", "chair"), 1)
    assert two.names == ("vase 0", "chair 0")
    mesh = result.meshes["chair"]
    np.testing.assert_array_equal(two.triangles[1, : len(mesh.faces)], mesh.vertices[mesh.faces])
    with pytest.raises(DaxlabError, match="chair 0 to 1 were asked for; 1 are imported"):
        shapenet.bank(("chair",), 2)
    with pytest.raises(DaxlabError, match="unknown category 'sofas'"):
        shapenet.bank(("sofas",), 1)


def test_the_agent_sees_them(result: Result) -> None:
    things = shapenet.bank(("chair",), 1)
    scene = view_scene("chair 0", yaw=0.0, things=things)
    picture = np.asarray(render(scene, bank=things, backend="reference")).astype(int)
    red = (picture[..., 0] > 100) & (picture[..., 1:].max(axis=-1) < 60)
    green = (picture[..., 1] > 100) & (picture[..., ::2].max(axis=-1) < 60)
    assert red.sum() > 100, "the front is turned to the viewer"
    assert green.sum() > 20, "the top is above"
    assert np.argwhere(green)[:, 0].mean() < np.argwhere(red)[:, 0].mean()


def test_the_command(result: Result, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["assets", "import-shapenet", str(result.sem.root)])
    said = capsys.readouterr().out
    assert "coffee table" in said
    assert "8 models of 8 classes imported" in said
    assert "skipped 'garbage' has a line 2 that is no OBJ" in said
    main(["assets", "import-shapenet", str(result.sem.root), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["imported"]["sofa"] == 1
    assert {"model": "unitless", "reason": "has no unit, so its size is unknown"} in report["skipped"]


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        (None, "has no metadata.csv"),
        ("", "has no column"),
        ("id,name\n1,2\n", "has no column category"),
        ("fullId,category,unit,up,front\nwss.x,Chair,1,,\n", "no model"),
        ("fullId,category,unit,up,front\n", "no model"),
    ],
)
def test_a_folder_that_is_no_download_is_one_sentence(
    metadata: str | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAXLAB_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "folder"
    folder.mkdir()
    if metadata is not None:
        (folder / "metadata.csv").write_text(metadata)
    with pytest.raises(SystemExit) as stop:
        main(["assets", "import-shapenet", str(folder)])
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert says in said[-1]
    assert not store.store_file().exists()


def test_without_an_import_the_bank_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAXLAB_CACHE", str(tmp_path))
    with pytest.raises(DaxlabError, match="daxlab assets import-shapenet DIR"):
        shapenet.bank()
    with pytest.raises(DaxlabError, match="is no folder"):
        shapenet.import_folder(tmp_path / "none")
