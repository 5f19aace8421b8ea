"""Laws of the meshes: closed, outward, centred, small, and told apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.assets import shapes
from daxlab.assets.catalog import FURNITURE_NAMES, HELDOUT_OBJECTS, TRAIN_OBJECTS, bank, object_mesh
from daxlab.assets.furniture import FURNITURE, Furniture
from daxlab.assets.mesh import MAX_FACES, Mesh, build_bank
from daxlab.errors import DaxlabError
from daxlab.render import render
from daxlab.viewer.sheet import contact_sheet, save_sheet, view_scene

OBJECTS = TRAIN_OBJECTS + HELDOUT_OBJECTS
RED = (1.0, 0.0, 0.0)
BLUE = (0.0, 0.0, 1.0)


def mesh_of(name: str) -> Mesh:
    return FURNITURE[name]().mesh if name in FURNITURE else object_mesh(name)


def components(faces: np.ndarray, vertices: int) -> list[np.ndarray]:
    """Faces grouped into parts that share vertices."""
    label = np.arange(vertices)
    while True:
        least = label[faces].min(axis=1)
        new = label.copy()
        np.minimum.at(new, faces.ravel(), np.repeat(least, 3))
        if (new == label).all():
            return [faces[label[faces[:, 0]] == k] for k in np.unique(label[faces[:, 0]])]
        label = new


def volume(corners: np.ndarray) -> float:
    return float(np.linalg.det(corners - corners.mean(axis=(0, 1))).sum() / 6)


def assert_closed_and_outward(vertices: np.ndarray, faces: np.ndarray) -> None:
    directed = Counter((a, b) for f in faces.tolist() for a, b in zip(f, f[1:] + f[:1], strict=True))
    assert max(directed.values()) == 1, "two faces run along an edge in the same direction"
    assert all((b, a) in directed for a, b in directed), "an edge has a face on one side only"
    for part in components(faces, len(vertices)):
        assert volume(vertices[part].astype(float)) > 1e-6, "a part is inside out"


def areas(mesh: Mesh) -> np.ndarray:
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


def looks(mesh: Mesh) -> np.ndarray:
    """What tells things apart at a glance: the colour and width of each of four slices by height, and the size."""
    middle = mesh.vertices[mesh.faces].mean(axis=1)
    weight = areas(mesh)
    slice_of = np.clip(((middle[:, 2] / mesh.half_height + 1) * 2).astype(int), 0, 3)
    parts = [np.array([mesh.half_height, mesh.radius]) * 4]
    for k in range(4):
        w = weight * (slice_of == k)
        share = max(w.sum(), 1e-9)
        parts += [w @ mesh.colours / share, w @ np.hypot(middle[:, 0], middle[:, 1])[:, None] / share * 4]
    return np.concatenate(parts)


def test_thirty_to_train_and_ten_held_out() -> None:
    assert len(TRAIN_OBJECTS) == 30
    assert len(HELDOUT_OBJECTS) == 10
    assert not set(TRAIN_OBJECTS) & set(HELDOUT_OBJECTS)
    for names in (TRAIN_OBJECTS, HELDOUT_OBJECTS, FURNITURE_NAMES):
        assert list(names) == sorted(set(names))
        assert all(name.isalpha() and name.islower() for name in names)
    assert TRAIN_OBJECTS[:3] == ("boat", "book", "bottle")
    assert FURNITURE_NAMES == ("bed", "box", "desk", "tray")


@pytest.mark.parametrize("name", OBJECTS + FURNITURE_NAMES)
def test_closed_outward_and_centred(name: str) -> None:
    mesh = mesh_of(name)
    assert_closed_and_outward(mesh.vertices, mesh.faces)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), -mesh.vertices.min(axis=0), atol=1e-6)
    assert areas(mesh).min() > 1e-6
    assert len(mesh.faces) <= MAX_FACES
    assert set(np.unique(mesh.faces)) == set(range(len(mesh.vertices)))


@pytest.mark.parametrize("name", OBJECTS)
def test_object_sizes(name: str) -> None:
    mesh = object_mesh(name)
    extent = np.ptp(mesh.vertices, axis=0)
    assert 0.25 <= extent.max() <= 0.501
    assert extent.min() >= 0.1
    assert 0.10 <= mesh.radius <= 0.26
    assert 0.08 <= mesh.half_height <= 0.2501


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_stands_on_its_base(name: str) -> None:
    mesh = object_mesh(name)
    corners = mesh.vertices[mesh.faces]
    middle = (areas(mesh)[:, None] * corners.mean(axis=1)).sum(axis=0) / areas(mesh).sum()
    base = mesh.vertices[mesh.vertices[:, 2] < -mesh.half_height + 0.03]
    assert (base[:, :2].min(axis=0) - 0.02 <= middle[:2]).all()
    assert (middle[:2] <= base[:, :2].max(axis=0) + 0.02).all()


def test_objects_look_different() -> None:
    seen = {name: looks(object_mesh(name)) for name in OBJECTS}
    gaps = {(a, b): float(np.linalg.norm(seen[a] - seen[b])) for a, b in combinations(OBJECTS, 2)}
    nearest = min(gaps, key=lambda pair: gaps[pair])
    assert gaps[nearest] > 0.5, nearest


@pytest.fixture(scope="module")
def agent_views() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each object, the agent's picture of it and which pixels it covers."""
    scenes = jax.tree.map(lambda *a: jnp.stack(a), *(view_scene(name) for name in OBJECTS))
    full, empty = (
        np.asarray(jax.vmap(render)(s)) / 255 for s in (scenes, scenes._replace(mesh=jnp.full_like(scenes.mesh, -1)))
    )
    covered = np.abs(full - empty).sum(axis=-1) > 0.25
    return {name: (full[i], covered[i]) for i, name in enumerate(OBJECTS)}


def test_the_agent_sees_each_object(agent_views: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    for name, (_, covered) in agent_views.items():
        assert 150 <= covered.sum() <= 900, f"the {name} covers {covered.sum()} of 6912 pixels"


def test_the_agent_can_tell_objects_apart(agent_views: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    for a, b in combinations(OBJECTS, 2):
        (one, here), (two, there) = agent_views[a], agent_views[b]
        gap = np.sqrt(((one - two)[here | there] ** 2).sum(axis=-1).mean())
        assert gap > 0.3, f"the {a} and the {b} look alike: {gap:.2f}"


def test_contact_sheet(tmp_path: Path) -> None:
    sheet = contact_sheet(("boat", "cup", "bed"), columns=2)
    assert sheet.size == (2 * (240 + 192 + 12), 2 * (180 + 16 + 6))
    save_sheet(tmp_path / "sheet.png", ("boat",))
    assert (tmp_path / "sheet.png").stat().st_size > 1000
    with pytest.raises(DaxlabError, match="unknown object 'boatt'"):
        contact_sheet(("boatt",))


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_stand_out_from_floor_and_wall(name: str) -> None:
    """Half of the surface or more is far from every grey and beige of middle brightness."""
    mesh = object_mesh(name)
    brightness = mesh.colours.mean(axis=1)
    dull = (np.ptp(mesh.colours, axis=1) < 0.25) & (brightness > 0.3) & (brightness < 0.85)
    assert areas(mesh)[dull].sum() < 0.5 * areas(mesh).sum()


@pytest.mark.parametrize("name", FURNITURE)
def test_solids_match_the_drawn_furniture(name: str) -> None:
    piece = FURNITURE[name]()
    low, high = piece.solids[:, 0], piece.solids[:, 1]
    assert piece.solids.dtype == np.float32
    assert (high - low > 0.01).all()
    reach = piece.mesh.vertices.max(axis=0)
    np.testing.assert_allclose(low.min(axis=0), -reach, atol=1e-5)
    np.testing.assert_allclose(high.max(axis=0), reach, atol=1e-5)
    for i, j in combinations(range(len(low)), 2):
        overlap = np.minimum(high[i], high[j]) - np.maximum(low[i], low[j])
        assert overlap.min() < 1e-5, f"solids {i} and {j} of the {name} overlap"


def hard(piece: Furniture, point: tuple[float, float, float]) -> bool:
    """Whether a point, measured from the floor, is inside a solid."""
    p = np.array(point) - np.array([0.0, 0.0, piece.mesh.half_height])
    return bool(((piece.solids[:, 0] < p) & (p < piece.solids[:, 1])).all(axis=1).any())


def inside_mesh(mesh: Mesh, point: np.ndarray) -> bool:
    """Winding number by solid angles (van Oosterom and Strackee, 1983)."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces].astype(float) - point, 1, 0)
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    top = np.linalg.det(np.stack([a, b, c], axis=1))
    below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
    return bool(np.arctan2(top, below).sum() / (2 * np.pi) > 0.5)


@pytest.mark.parametrize("name", FURNITURE)
def test_solids_and_mesh_fill_the_same_space(name: str) -> None:
    piece = FURNITURE[name]()
    reach = np.array([*piece.mesh.vertices.max(axis=0)])
    points = np.random.default_rng(0).uniform(-reach, reach, (400, 3))
    solid = ((piece.solids[None, :, 0] < points[:, None]) & (points[:, None] < piece.solids[None, :, 1])).all(-1).any(1)
    drawn = np.array([inside_mesh(piece.mesh, p) for p in points])
    assert solid.any()
    if name == "bed":
        pillow = points[drawn & ~solid]
        assert not (solid & ~drawn).any()
        assert ((pillow[:, 2] + piece.mesh.half_height > 0.4) & (pillow[:, 2] + piece.mesh.half_height < 0.47)).all()
    else:
        np.testing.assert_array_equal(solid, drawn)


def test_furniture_holds_things() -> None:
    bed, box, desk, ring, tray = (piece() for piece in FURNITURE.values())
    assert hard(bed, (0.2, 0.0, 0.39))
    assert not hard(bed, (0.2, 0.0, 0.41))
    assert hard(box, (0.0, 0.0, 0.03))
    assert not hard(box, (0.0, 0.0, 0.05))
    assert not hard(box, (0.30, 0.30, 0.2))
    assert hard(box, (0.33, 0.0, 0.39))
    assert hard(desk, (0.0, 0.0, 0.59))
    assert not hard(desk, (0.0, 0.0, 0.3))
    for x, y in ((0.0, 0.8), (0.6, 0.6), (-0.8, 0.0), (0.0, -0.8)):
        assert hard(ring, (x, y, 0.59))
    assert not hard(ring, (0.3, 0.3, 0.3))
    assert hard(tray, (0.0, 0.0, 0.01))
    assert not hard(tray, (0.0, 0.0, 0.04))
    assert hard(tray, (0.43, 0.0, 0.05))


def test_bank_order_and_padding() -> None:
    b = bank()
    assert b is bank()
    assert b.names == (*OBJECTS, *FURNITURE)
    assert b.triangles.shape == (45, MAX_FACES, 3, 3)
    assert b.triangles.dtype == b.colours.dtype == np.float32
    for k, name in enumerate(b.names):
        mesh, f = mesh_of(name), b.face_count[k]
        assert b.index(name) == k
        assert f == len(mesh.faces)
        np.testing.assert_array_equal(b.triangles[k, :f], mesh.vertices[mesh.faces])
        assert not b.triangles[k, f:].any()
        assert not b.colours[k, f:].any()
        assert b.bound[k] >= max(b.radius[k], b.half_height[k])


def test_unknown_object() -> None:
    with pytest.raises(DaxlabError, match=r"unknown object 'boot'.*boat"):
        object_mesh("boot")


def test_broken_meshes_are_refused() -> None:
    good = object_mesh("cup")
    with pytest.raises(DaxlabError, match="finite"):
        replace(good, vertices=good.vertices * np.nan)
    with pytest.raises(DaxlabError, match="faces must name vertices"):
        replace(good, faces=good.faces + len(good.vertices))
    with pytest.raises(DaxlabError, match="faces must be of shape"):
        replace(good, faces=good.faces[:0], colours=good.colours[:0])
    with pytest.raises(DaxlabError, match="colours"):
        replace(good, colours=good.colours * 9)
    crowd = shapes.centred(*(shapes.box(RED, 1, 1, 1).move(x=2 * i) for i in range(11)))
    with pytest.raises(DaxlabError, match="'crowd' has 132 faces; at most 128"):
        build_bank({"crowd": crowd})


def test_broken_shapes_are_refused() -> None:
    with pytest.raises(DaxlabError, match="cross itself"):
        shapes.prism(RED, [(0, 0), (1, 1), (1, 0), (0, 1)], 1)
    with pytest.raises(DaxlabError, match="equal size"):
        shapes.loft(RED, [np.zeros((3, 3)), np.zeros((4, 3))])
    with pytest.raises(DaxlabError, match="2 bands need one colour, or 2; got 3"):
        shapes.lathe([RED, RED, BLUE], [(1, 0), (1, 1), (0, 2)])


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (shapes.box(RED, 1, 2, 3), 6.0),
        (shapes.wedge(RED, 1, 2, 3), 3.0),
        (shapes.prism(RED, [(0, 0), (2, 0), (2, 2), (1, 0.5), (0, 2)], 1.0), 2.5),
        (shapes.prism(RED, [(0, 2), (1, 0.5), (2, 2), (2, 0), (0, 0)], 1.0), 2.5),
        (shapes.extrude(RED, [(0, 0), (1, 0), (0, 1)], 4), 2.0),
        (shapes.cylinder(RED, 1, 1, n=4), 2.0),
        (shapes.cone(RED, 1, 3, n=4), 2.0),
        (shapes.lathe(RED, [(2, 0), (2, 2), (1, 2), (1, 1)], n=4), 14.0),
        (shapes.ball(RED, 1, 2, 3, n=4, rings=1), 8.0),
        (shapes.tube(RED, [(0, 0, 0), (0, 0, 1), (0, 0, 3)], 1.0), 6.0),
        (shapes.tube(RED, [(0, 0, 0), (3, 0, 0)], 1.0, across="z"), 6.0),
    ],
)
def test_shapes_have_their_volume(part: shapes.Part, expected: float) -> None:
    for turned in (part, part.turn("x", 50).turn("z", 20).move(1, 2, 3), part.scale(x=-1)):
        assert_closed_and_outward(turned.vertices, turned.faces)
        assert volume(turned.vertices[turned.faces]) == pytest.approx(expected)
    twice = part.both("y")
    assert volume(twice.vertices[twice.faces]) == pytest.approx(2 * expected)


def test_turns_are_counter_clockwise() -> None:
    block = shapes.box(RED, 2, 4, 6)
    for axis, after in (("x", (1, -6, 2)), ("y", (6, 2, -1)), ("z", (-2, 1, 6))):
        corner = block.turn(axis, 90).vertices
        assert np.isclose(corner, after).all(axis=1).any()


def test_paint() -> None:
    block = shapes.box(RED, 1, 1, 1)
    assert (block.paint_facing(BLUE, (0, 0, 1)).colours == BLUE).all(axis=1).sum() == 2
    assert (block.paint_where(BLUE, lambda c: c[:, 2] > 0.9).colours == BLUE).all(axis=1).sum() == 2
    assert (block.paint(BLUE).colours == BLUE).all()
    banded = shapes.lathe([RED, BLUE], [(1, 0), (1, 1), (0, 2)], n=5)
    assert (banded.colours == BLUE).all(axis=1).sum() == 5
