"""A small folder of ShapeNetSem's layout: good models, and every kind of bad one with words of why it is bad."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from daxlab.assets.shapenet import obj

RED, GREEN, BLUE, WHITE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)
SECRET = (0.11, 0.77, 0.33)
"""The colour of everything outside the folder."""
MTL = "".join(
    f"newmtl {name}\nKd {r} {g} {b}\nd 0.0\n"
    for name, (r, g, b) in {"red": RED, "green": GREEN, "blue": BLUE, "white": WHITE}.items()
)
CORNERS = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
SIDES = {
    "-x": (1, 2, 4, 3),
    "+x": (5, 7, 8, 6),
    "-y": (1, 5, 6, 2),
    "+y": (3, 4, 8, 7),
    "-z": (1, 3, 7, 5),
    "+z": (2, 6, 8, 4),
}
"""Corners of each side of a box, counter-clockwise from outside, counted from 1 as OBJ does."""


def box(size: tuple[float, float, float], colours: dict[str, str], library: str = "chair.mtl") -> str:
    """An OBJ of six quads; sides without a colour are white."""
    lines = [f"mtllib {library}", *(f"v {x * size[0]} {y * size[1]} {z * size[2]}" for x, y, z in CORNERS)]
    for side, corners in SIDES.items():
        lines += [f"usemtl {colours.get(side, 'white')}", "f " + " ".join(map(str, corners))]
    return "\n".join(lines) + "\n"


CUBE = box((1, 1, 1), {}, "plain.mtl")


def lathe(profile: list[tuple[float, float]], n: int = 32, steps: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a turned thing, closed and outward; each piece of the profile is cut into steps."""
    t = np.linspace(0, len(profile) - 1, steps * (len(profile) - 1) + 1)
    r, z = (np.interp(t, np.arange(len(profile)), [p[k] for p in profile]) for k in (0, 1))
    angle = np.arange(n) * 2 * np.pi / n
    vertices = np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.repeat(z[:, None], n, 1)], -1)
    i, j = np.meshgrid(np.arange(len(r) - 1), np.arange(n), indexing="ij")
    a, b, c, d = i * n + j, i * n + (j + 1) % n, (i + 1) * n + (j + 1) % n, (i + 1) * n + j
    return vertices.reshape(-1, 3), np.concatenate([np.stack(f, -1).reshape(-1, 3) for f in ((a, b, c), (a, c, d))])


BALL = [(np.sin(a) + 0.0, -np.cos(a)) for a in np.linspace(0, np.pi, 9)]
MUG = [(0.0, 0.0), (1.0, 0.0), (1.0, 2.4), (0.9, 2.4), (0.9, 0.1), (0.0, 0.1)]


def text_of(vertices: np.ndarray, faces: np.ndarray, material: str = "white") -> str:
    lines = ["mtllib plain.mtl", *(f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in vertices), f"usemtl {material}"]
    return "\n".join(lines + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]) + "\n"


class Sem:
    """A folder like a download of ShapeNetSem, filled model by model."""

    def __init__(self, root: Path) -> None:
        self.root, self.models = root, root / "models-OBJ" / "models"
        self.textures = root / "models-textures" / "textures"
        self.models.mkdir(parents=True)
        self.textures.mkdir(parents=True)
        (self.models / "plain.mtl").write_text(MTL)
        self.rows = ["fullId,category,wnsynset,wnlemmas,up,front,unit,aligned.dims,name,tags"]
        self.expected: dict[str, str] = {}

    def row(
        self, name: str, kind: str = "Chair", unit: str = "0.4", up: str = "", front: str = "", lemma: str = ""
    ) -> None:
        self.rows.append(f'wss.{name},"{kind}",,"{lemma}","{up}","{front}",{unit},,"a, name",')

    def add(self, name: str, text: str, mtl: str | None = None, **row: str) -> None:
        (self.models / f"{name}.obj").write_text(text)
        if mtl is not None:
            (self.models / f"{name}.mtl").write_text(mtl)
        self.row(name, **row)

    def bad(self, name: str, reason: str, text: str = CUBE, mtl: str | None = None, **row: str) -> None:
        """A model that must be skipped, with words of the reason."""
        self.expected[name] = reason
        self.add(name, text, mtl, **row)

    def write(self) -> None:
        (self.root / "metadata.csv").write_text("\n".join(self.rows) + "\n")


def textured(name: str, picture: str) -> tuple[str, str]:
    """A box whose sides show the four quarters of a picture, beyond its edges where it repeats."""
    text = box((1, 1, 1), {}, f"{name}.mtl").replace("usemtl white\n", "usemtl paper\n")
    quarters = {
        "-x": (0.1, 0.6),
        "+x": (0.6, 0.6),
        "-y": (-0.4, 0.1),
        "+y": (3.1, -0.9),
        "-z": (0.1, 0.1),
        "+z": (0.1, 0.1),
    }
    lines, uv = [], []
    for line in text.splitlines():
        if line.startswith("f "):
            u, v = list(quarters.values())[len(uv) // 4]
            uv += [f"vt {u + du} {v + dv}" for du, dv in ((0, 0), (0.3, 0), (0.3, 0.3), (0, 0.3))]
            line = "f " + " ".join(f"{c}/{len(uv) - 3 + i}" for i, c in enumerate(line.split()[1:]))
        lines.append(line)
    return "\n".join(lines + uv) + "\n", f"newmtl paper\nKd 0.5 0.5 0.5\nmap_Kd {picture}\n"


def bomb(width: int, height: int) -> bytes:
    """A small PNG file that says its picture is enormous."""
    header, pixels = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), zlib.compress(bytes(10**6))
    chunks = ((b"IHDR" + header), (b"IDAT" + pixels), b"IEND")
    parts = (struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def good_models(sem: Sem) -> None:
    upright = {"-y": "blue", "+y": "green", "+z": "red"}
    sem.add("chair", box((40, 100, 60), upright), MTL, unit="0.01", up=r"0.0\,1.0\,0.0", front=r"0.0\,0.0\,1.0")
    sem.add("bottle", box((100, 120, 350), {}, "plain.mtl"), kind="_Attributes,DrinkBottle", unit="0.001")
    vertices, faces = lathe(BALL)
    half = vertices[faces].mean(axis=1)[:, 2] < 0
    text = text_of(vertices, faces[half], "red") + "usemtl blue\n"
    sem.add("ball", text + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces[~half]), kind="Vase", unit="0.2")
    sem.add("mug", text_of(*lathe(MUG)), kind="Mug", unit="0.05")
    sem.add("inside-out", text_of(lathe(BALL)[0], lathe(BALL)[1][:, ::-1]), kind="Couch", unit="0.2")
    sem.add("book", *textured("book", "cover.png"), kind="Book")
    sem.add("rug", box((300, 200, 1), {"+z": "red"}, "plain.mtl"), kind="", lemma="rug,carpet", unit="0.01")
    odd = CUBE.replace("f 1 2 4 3", "vn 0 0 1\nl 1 2\nf\t-8//1 -7//1 -5//1  -6//1").replace("\n", "\r\n")
    sem.add("odd", odd, kind="Table,CoffeeTable")
    sem.row("plane", kind="Airplane")
    sem.row("marked", kind="Chair,_BAD")
    cover = np.zeros((64, 64, 3), np.uint8)
    cover[:32, :32], cover[:32, 32:], cover[32:, :32], cover[32:, 32:] = (255, 0, 0), (0, 255, 0), (0, 0, 255), 255
    Image.fromarray(cover).save(sem.textures / "cover.png")


def bad_models(sem: Sem, outside: Path) -> None:
    def face(line: str) -> str:
        return CUBE + line + "\n"

    sem.bad("garbage", "no OBJ", "v 1 2 3\nv one two three\n")
    sem.bad("binary", "no faces", bytes(range(256)).decode("latin-1") * 50)
    sem.bad("cut-off", "no OBJ", CUBE[:-4])
    sem.bad("empty", "no faces", "")
    sem.bad("absurd", "index '99999999999999999999999'", face("f 1 2 99999999999999999999999"))
    sem.bad("beyond", "vertices that it does not have", face("f 1 2 9"))
    sem.bad("zero", "index '0'", face("f 0 1 2"))
    sem.bad("before", "index '-9'", face("f -9 1 2"))
    sem.bad("no-uv", "vertices that it does not have", face("f 1/7 2/8 3/9"))
    sem.bad("nan", "not finite", CUBE.replace("v 0.5 0.5 0.5", "v nan 0.5 0.5"))
    sem.bad("infinite", "not finite", CUBE.replace("v 0.5 0.5 0.5", "v 1e999 0.5 0.5"))
    sem.bad("huge-number", "m long", CUBE.replace("v 0.5 0.5 0.5", "v 1e308 1e308 1e308"))
    sem.bad("long-line", "bytes", face("f 1 2 3 " + "4 " * obj.MAX_LINE))
    sem.bad("no-mtl", "'models-OBJ/models/gone.mtl' is missing", CUBE.replace("plain.mtl", "gone.mtl"))
    sem.bad("no-library", "names no MTL", CUBE.replace("mtllib", "#"))
    sem.bad("no-material", "'gold' that no MTL", CUBE.replace("white", "gold"))
    sem.bad("no-usemtl", "without a material", CUBE.replace("usemtl", "#"))
    sem.bad("no-colour", "without a colour", CUBE.replace("plain", "no-colour"), "newmtl white\n")
    sem.bad("nan-colour", "not finite", CUBE.replace("plain", "nan-colour"), "newmtl white\nKd nan 0 0\n")
    sem.bad("word-colour", "no MTL", CUBE.replace("plain", "word-colour"), "newmtl white\nKd very red\n")
    sem.bad("no-picture", "models-textures.zip", *textured("no-picture", "gone.jpg"))
    sem.bad("long-name", "that is missing", *textured("long-name", "x" * 5000))
    sem.bad("nul-name", "is no usable path", *textured("nul-name", "a\0b.png"))
    sem.bad("bad-picture", "cannot be read", *textured("bad-picture", "bad.jpg"))
    (sem.textures / "bad.jpg").write_bytes(b"\xff\xd8\xff" + bytes(range(256)))
    sem.bad("large-picture", "9000×9000", *textured("large-picture", "large.png"))
    (sem.textures / "large.png").write_bytes(bomb(9_000, 9_000))
    sem.bad("bomb", "cannot be read", *textured("bomb", "bomb.png"))
    (sem.textures / "bomb.png").write_bytes(bomb(60_000, 60_000))
    many = "".join(f"newmtl m{i}\nmap_Kd many/{i}.png\n" for i in range(99))
    text = "mtllib many-pictures.mtl\nv 0 0 0\nv 1 0 0\nv 0 0 1\n" + "".join(
        f"usemtl m{i}\nf 1 2 3\n" for i in range(99)
    )
    (sem.textures / "many").mkdir()
    for i in range(99):
        Image.new("RGB", (1, 1)).save(sem.textures / "many" / f"{i}.png")
    sem.bad("many-pictures", "more than 64 pictures", text, many)
    sem.bad("cut-picture", "cannot be read", *textured("cut-picture", "cut.png"))
    (sem.textures / "cut.png").write_bytes((sem.textures / "cover.png").read_bytes()[:-60])
    sem.bad("id-with-control", "is no model's id", kind="Chair")
    sem.rows[-1] = sem.rows[-1].replace("id-with-control", "id\x1b[31m")
    sem.expected["id\\x1b[31m"] = sem.expected.pop("id-with-control")

    sem.bad("dots", "outside", *textured("dots", "../../../outside/secret.png"))
    sem.bad("absolute", "outside", *textured("absolute", str(outside / "secret.png")))
    sem.bad("backslash", "outside", *textured("backslash", "..\\..\\..\\outside\\secret.png"))
    sem.bad("link-picture", "outside", *textured("link-picture", "link.png"))
    (sem.textures / "link.png").symlink_to(outside / "secret.png")
    sem.bad("library-dots", "outside", CUBE.replace("plain.mtl", "../../../outside/secret.mtl"))
    sem.bad("library-absolute", "outside", CUBE.replace("plain.mtl", str(outside / "secret.mtl")))
    sem.bad("link-library", "outside", CUBE.replace("plain", "link-library"))
    (sem.models / "link-library.mtl").symlink_to(outside / "secret.mtl")
    sem.bad("link-model", "outside")
    (sem.models / "link-model.obj").unlink()
    (sem.models / "link-model.obj").symlink_to(outside / "secret.obj")
    sem.bad("link-folder", "outside", *textured("link-folder", "far/secret.png"))
    (sem.models / "far").symlink_to(outside)
    sem.row("../../../outside/secret")
    sem.expected["../../../outside/secret"] = "is no model's id"
    sem.bad("loop", "has no OBJ file")
    (sem.models / "loop.obj").unlink()
    (sem.models / "loop.obj").symlink_to("loop.obj")

    sem.bad("enormous", "at most 64.0 MiB")
    os.truncate(sem.models / "enormous.obj", 2**33)
    sem.bad("enormous-mtl", "at most 1.0 MiB", CUBE.replace("plain", "enormous-mtl"), "")
    os.truncate(sem.models / "enormous-mtl.mtl", 2**33)
    sem.bad("enormous-picture", "at most 32.0 MiB", *textured("enormous-picture", "enormous.png"))
    (sem.textures / "enormous.png").touch()
    os.truncate(sem.textures / "enormous.png", 2**33)
    sem.bad("pipe", "no plain file")
    (sem.models / "pipe.obj").unlink()
    os.mkfifo(sem.models / "pipe.obj")
    sem.bad("folder", "no plain file")
    (sem.models / "folder.obj").unlink()
    (sem.models / "folder.obj").mkdir()
    sem.row("gone")
    sem.expected["gone"] = "has no OBJ file"

    sem.bad("unitless", "no unit", unit="")
    sem.bad("word-unit", "has the unit 'inch'", unit="inch")
    sem.bad("minus-unit", "unit of -1 m", unit="-1")
    sem.bad("nan-unit", "has the unit 'nan'", unit="nan")
    sem.bad("short-up", "has the up", up=r"0\,1")
    sem.bad("word-front", "has the front", front=r"left\,0\,1")
    sem.bad("same-axes", "has no front", up=r"0\,1\,0", front=r"0\,2\,0")
    sem.bad("no-axes", "has no front", up=r"0\,0\,0", front=r"0\,1\,0")
    sem.bad("giant", "is 30 m long", unit="30")
    sem.bad("mite", "is 0.001 m long", unit="0.001")
    sem.bad("point", "is 0 m long", "mtllib plain.mtl\nusemtl red\nv 1 1 1\nf 1 1 1\n")
    sem.bad("line", "no surface", "mtllib plain.mtl\nusemtl red\nv 0 0 0\nv 0 0 1\nf 1 2 1\n")
    sem.bad("flat", "no height", "mtllib plain.mtl\nusemtl red\nv 0 0 0\nv 0 1 0\nv 1 0 0\nf 1 2 3\n")
    sem.row("chair")
