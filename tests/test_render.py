from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from daxlab.assets.mesh import Bank, Mesh, build_bank
from daxlab.errors import DaxlabError
from daxlab.render import Scene, cpu, gpu, render, setup
from daxlab.render.parity import parity, random_scenes

BACKENDS = ("reference", "cpu", "gpu")
RED, GREEN = (0.9, 0.05, 0.05), (0.05, 0.8, 0.05)


def box(half: float, colour: tuple[float, float, float]) -> Mesh:
    corners = np.array([[x, y, z] for x in (-half, half) for y in (-half, half) for z in (-half, half)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    return Mesh(corners, faces, np.tile(np.array(colour), (len(faces), 1)))


def ball(radius: float, rings: int = 8, sides: int = 8) -> Mesh:
    """With all 128 faces, each of its own colour."""
    ring = np.pi * np.arange(1, rings + 1) / (rings + 1)
    turn = 2 * np.pi * np.arange(sides) / sides
    body = [(np.sin(r) * np.cos(t), np.sin(r) * np.sin(t), np.cos(r)) for r in ring for t in turn]
    vertices = radius * np.array([(0.0, 0.0, 1.0), *body, (0.0, 0.0, -1.0)])
    last, faces = len(vertices) - 1, []
    for j in range(sides):
        k = (j + 1) % sides
        faces += [(0, 1 + j, 1 + k), (last, last - sides + k, last - sides + j)]
        for i in range(rings - 1):
            a, b = 1 + i * sides + j, 1 + i * sides + k
            faces += [(a, a + sides, b), (b, a + sides, b + sides)]
    colours = np.random.default_rng(0).uniform(0.1, 0.9, (len(faces), 3))
    return Mesh(vertices, np.array(faces), colours)


@pytest.fixture(scope="module")
def bank() -> Bank:
    made = build_bank({"red": box(0.2, RED), "ball": ball(0.25), "green": box(0.15, GREEN), "big": box(1.0, GREEN)})
    assert made.face_count.max() == 128
    return made


def one(scenes: Scene, i: int) -> Scene:
    return jax.tree.map(lambda a: a[i], scenes)


def facing(forward: str, things: list[tuple[int, tuple[float, float, float]]]) -> Scene:
    """From (0, −2, 0.9), looking along +y ("ahead") or straight down, at unturned things."""
    ahead = [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    down = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]
    up = [[1, 0, 0], [0, -1, 0], [0, 0, 1]]
    return Scene(
        eye=jnp.array([0.0, -2.0, 0.9]),
        look=jnp.array({"ahead": ahead, "down": down, "up": up}[forward], jnp.float32),
        mesh=jnp.array([m for m, _ in things], jnp.int32),
        position=jnp.array([p for _, p in things], jnp.float32).reshape(-1, 3),
        rotation=jnp.broadcast_to(jnp.eye(3), (len(things), 3, 3)),
        room=jnp.array([2.5, 2.5, 2.5]),
        decor=jnp.int32(0),
    )


def is_colour(picture: jax.Array, channel: int) -> np.ndarray:
    """Pixels in which one channel is more than twice each other one: the room has no such colours."""
    p = np.asarray(picture).astype(int)
    others = np.delete(p, channel, axis=-1).max(-1)
    return p[..., channel] > 2 * others


@pytest.mark.parametrize(("first", "second"), [("reference", "cpu"), ("reference", "gpu"), ("cpu", "gpu")])
def test_backends_agree(bank: Bank, first: str, second: str) -> None:
    assert parity(first, second, random_scenes(0, 4), 48, 36, bank) >= 0.995


def test_cpu_agrees_over_many_scenes_and_things(bank: Bank) -> None:
    for seed, (nearest, furthest) in enumerate([(1.0, 3.0), (0.3, 1.0), (2.0, 5.0)]):
        scenes = random_scenes(seed, 16, things=6, nearest=nearest, furthest=furthest)
        assert parity("reference", "cpu", scenes, bank=bank) >= 0.995
    bare = random_scenes(9, 4, things=0)
    assert parity("reference", "cpu", bare, bank=bank) >= 0.995
    assert parity("reference", "gpu", bare, 24, 24, bank) >= 0.995


def test_parity_notices_a_difference(bank: Bank) -> None:
    scenes = random_scenes(0, 4)
    moved = scenes._replace(position=scenes.position + jnp.array([0.2, 0.0, 0.0]))
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), scenes, moved)
    pictures = np.asarray(jax.vmap(lambda s: render(s, bank=bank, backend="cpu"))(both)).astype(int)
    assert (np.abs(pictures[:4] - pictures[4:]) <= 2).all(-1).mean() < 0.995


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_a_thing_that_overlaps_the_camera(bank: Bank, backend: str) -> None:
    offsets = (0.0, 0.1, 0.26)
    scenes = [facing("ahead", [(0, (0.05, -2.0 + o, 0.85)), (1, (0.3, -1.8, 0.9))]) for o in offsets]
    # Large faces that run from behind the camera to far in front of it.
    slabs = [facing("ahead", [(3, (x, y, -0.25)), (0, (0.0, -0.5, 0.8))]) for x, y in ((0.6, -1.7), (-0.3, -2.2))]
    batch = jax.tree.map(lambda *a: jnp.stack(a), *scenes, *slabs)
    assert parity("reference", backend, batch, 24, 18, bank) >= 0.995
    # From inside the red box its faces are seen from behind and not drawn; from outside they fill the middle.
    seen = [is_colour(render(s, 24, 18, bank, "cpu"), 0).any() for s in scenes]
    assert seen == [False, False, True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_vmap_is_a_loop(bank: Bank, backend: str) -> None:
    scenes = random_scenes(3, 3)
    draw = lambda s: render(s, 24, 16, bank, backend)  # noqa: E731
    batch = np.asarray(jax.vmap(draw)(scenes))
    np.testing.assert_array_equal(batch, np.stack([draw(one(scenes, i)) for i in range(3)]))


def test_nested_and_partial_vmap(bank: Bank) -> None:
    scenes = random_scenes(3, 4)
    draw = lambda s: render(s, 24, 24, bank, "cpu")  # noqa: E731
    batch = np.asarray(jax.vmap(draw)(scenes))
    nested = jax.tree.map(lambda a: a.reshape(2, 2, *a.shape[1:]), scenes)
    np.testing.assert_array_equal(np.asarray(jax.vmap(jax.vmap(draw))(nested)).reshape(batch.shape), batch)
    # One camera for many rooms: an argument without a batch axis.
    turned = jax.vmap(lambda p: draw(one(scenes, 0)._replace(position=p)))(scenes.position)
    np.testing.assert_array_equal(turned[2], draw(one(scenes, 0)._replace(position=scenes.position[2])))


@pytest.mark.parametrize(("width", "height"), [(1, 1), (24, 24), (97, 53), (640, 480)])
def test_any_resolution(bank: Bank, width: int, height: int) -> None:
    scenes = random_scenes(5, 2)
    assert render(one(scenes, 0), width, height, bank, "cpu").shape == (height, width, 3)
    assert parity("reference", "cpu", scenes, width, height, bank) >= 0.995
    if width in (1, 97):  # interpreted kernels are slow to compile
        assert parity("reference", "gpu", scenes, width, height, bank) >= 0.995


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_inside_a_compiled_scan(bank: Bank, backend: str) -> None:
    scenes = random_scenes(6, 2)

    @jax.jit
    def walk(start: Scene) -> jax.Array:
        def step(eye: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            pictures = jax.vmap(lambda s: render(s, 16, 12, bank, backend))(start._replace(eye=eye))
            return eye + jnp.array([0.05, 0.0, 0.0]), pictures

        return lax.scan(step, start.eye, None, length=3)[1]

    film = np.asarray(walk(scenes))
    last = scenes._replace(eye=scenes.eye + jnp.array([0.1, 0.0, 0.0]))
    expected = np.asarray(render(one(last, 1), 16, 12, bank, backend)).astype(int)
    assert (np.abs(film[2, 1] - expected) <= 2).all(-1).mean() >= 0.98
    assert (film[0] != film[2]).any()


def test_many_calls_from_a_scan_on_all_threads(bank: Bank) -> None:
    scenes = random_scenes(7, 9)
    draw = jax.vmap(lambda s: render(s, 8, 6, bank, "cpu"))
    expected = np.asarray(draw(scenes)).astype(np.int64).sum()

    @jax.jit
    def total(scenes: Scene) -> jax.Array:
        body = lambda sum_, _: (sum_ + draw(scenes).astype(jnp.int32).sum() % 1000003, None)  # noqa: E731
        return lax.scan(body, jnp.int32(0), None, length=2000)[0]

    assert int(total(scenes)) == int(np.int64(2000 * expected).astype(np.int32))


def test_numpy_entry_point(bank: Bank) -> None:
    scenes = random_scenes(8, 3)
    batch = cpu.draw(*(np.asarray(a) for a in scenes), 96, 72, bank)
    np.testing.assert_array_equal(batch, jax.vmap(lambda s: render(s, bank=bank, backend="cpu"))(scenes))
    single = cpu.draw(*(np.asarray(a[1]) for a in scenes), 96, 72, bank)
    np.testing.assert_array_equal(single, batch[1])


@pytest.mark.parametrize(("width", "height"), [(96, 72), (7, 5)])
def test_a_picture_stays_in_its_bytes_whatever_the_numbers(bank: Bank, monkeypatch, width: int, height: int) -> None:
    scenes = Scene(*(np.array(a) for a in random_scenes(9, 6)))
    scenes.eye[1], scenes.look[2], scenes.position[3, 0], scenes.rotation[3, 1] = np.nan, np.inf, np.inf, 1e30
    scenes.mesh[4], scenes.decor[4] = (-7, 2**30, 1), -3
    around, inside = np.full(2**17, 77, np.uint8), slice(4096, 4096 + 4 * height * width * 3)
    # The middle four of six rooms, so that those beside them are guarded too.
    some = jax.tree.map(lambda a: a[1:5], scenes)
    monkeypatch.setattr(cpu.np, "empty", lambda shape, kind: around[inside].reshape(shape))
    drawn = cpu.draw_scene(some, setup.table(bank), width, height)
    assert np.shares_memory(drawn, around)
    assert (np.delete(around, np.r_[inside]) == 77).all()


def test_numba_compiles_nothing_but_our_own_functions(tmp_path: Path) -> None:
    # A person waits for it at the first start: its own functions for arrays, min and max would take as long again.
    code = (
        "from numba.core import event; from daxlab.render import ffi; heard = event.RecordingListener(); "
        "event.register('numba:compile', heard); ffi.register(); "
        "print(*(e.data['dispatcher'].py_func.__module__ for _, e in heard.buffer))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert set(told.stdout.split()) == {"daxlab.render.raster", "daxlab.render.ffi"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_nearer_thing_hides_the_other_in_any_order(bank: Bank, backend: str) -> None:
    red, green = (0, (0.0, 0.5, 0.9)), (2, (0.0, -0.7, 0.9))
    here, there = (render(facing("ahead", order), 24, 18, bank, backend) for order in ([red, green], [green, red]))
    np.testing.assert_array_equal(here, there)
    assert is_colour(here, 1)[9, 12]
    assert not is_colour(here, 0).any(), "the green box is nearer and covers the red one"
    assert is_colour(render(facing("ahead", [red]), 24, 18, bank, backend), 0)[9, 12]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_projected_size(bank: Bank, backend: str) -> None:
    # The front of the red box is 1.3 m away and 0.4 m high: 0.4 / (2 · 1.3 · tan 30°) of the picture's height.
    picture = is_colour(render(facing("ahead", [(0, (0.0, -0.5, 0.9))]), 96, 72, bank, backend), 0)
    expected = 72 * 0.4 / (2 * 1.3 * np.tan(np.pi / 6))
    assert abs(picture[:, 48].sum() - expected) <= 1
    assert abs(picture[36].sum() - expected) <= 1
    assert picture[35:37, 47:49].all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_mesh_minus_one_draws_nothing(bank: Bank, backend: str) -> None:
    with_none = render(facing("ahead", [(-1, (0.0, -0.5, 0.3))]), 24, 18, bank, backend)
    np.testing.assert_array_equal(with_none, render(facing("ahead", []), 24, 18, bank, backend))


def test_shadow_darkens_the_floor_beneath_a_thing_and_fades_when_it_is_lifted(bank: Bank) -> None:
    def floor(height: float) -> np.ndarray:
        picture = render(facing("ahead", [(0, (0.0, -0.3, height))]), bank=bank, backend="cpu")
        return np.asarray(picture).astype(int)[60:].sum()

    assert floor(0.2) < floor(0.7) < floor(2.0)


def test_the_room(bank: Bank) -> None:
    empty = facing("ahead", [])
    towards = {"+y": [[1, 0, 0], [0, 0, 1], [0, 1, 0]], "-y": [[-1, 0, 0], [0, 0, 1], [0, -1, 0]],
               "+x": [[0, -1, 0], [0, 0, 1], [1, 0, 0]], "-x": [[0, 1, 0], [0, 0, 1], [-1, 0, 0]]}  # fmt: skip
    views = [
        render(
            empty._replace(eye=jnp.array([0.0, 0.0, 1.5]), look=jnp.array(look, jnp.float32)), bank=bank, backend="cpu"
        )
        for look in towards.values()
    ]
    tints = [np.asarray(v)[30:40, 40:56].mean((0, 1)) for v in views]
    for i in range(4):
        for j in range(i):
            assert np.abs(tints[i] - tints[j]).max() > 8, "each wall has its own tint"
    down, up = (np.asarray(render(facing(way, []), bank=bank, backend="cpu")).astype(int) for way in ("down", "up"))
    assert down.std((0, 1)).min() > 4, "the floor is textured"
    assert up[30:42, 40:56].std((0, 1)).max() < 2, "the ceiling is plain"
    pictures = {
        np.asarray(render(empty._replace(decor=jnp.int32(d)), bank=bank, backend="cpu")).tobytes() for d in range(3)
    }
    assert len(pictures) == 3


def test_distant_texture_is_faded() -> None:
    # Little contrast is left at the far end of the floor: nothing flickers there when the camera moves.
    empty = facing("ahead", [])._replace(eye=jnp.array([0.3, -2.4, 0.9]))
    bank = build_bank({"red": box(0.2, RED)})
    floor = np.asarray(render(empty, bank=bank, backend="cpu")).astype(int)[:, 24:72, 1]
    assert np.ptp(floor[49:52]) < 0.4 * np.ptp(floor[62:])


@pytest.mark.parametrize(
    ("options", "words"),
    [({"backend": "vulkan"}, "render backend"), ({"width": 0}, "at least 1×1"), ({"height": -3}, "at least 1×1")],
)
def test_errors(bank: Bank, options: dict, words: str) -> None:
    with pytest.raises(DaxlabError, match=words):
        render(facing("ahead", []), bank=bank, **options)


def test_kernels_lower_to_triton(bank: Bank) -> None:
    # No GPU is needed to lower; running is checked on one with `python -m daxlab.render.parity gpu reference`.
    draw = jax.jit(lambda s: gpu.draw(s, setup.table(bank), 96, 72, interpret=False))
    try:
        text = draw.trace(random_scenes(0, 8)).lower(lowering_platforms=("cuda",)).as_text()
    except RuntimeError as error:
        if "No supported GPU" in str(error):
            pytest.skip("this JAX lowers Triton kernels only where a GPU is")
        raise
    assert text.count("xla.gpu.triton") >= 2 or text.count("custom_call") >= 2


def test_import_loads_no_backend() -> None:
    code = (
        "import sys, daxlab.render, jax._src.xla_bridge as b; assert not b._backends, b._backends; "
        "assert 'numba' not in sys.modules and 'jax.experimental.pallas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
