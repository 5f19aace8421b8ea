"""Fewer triangles for the same shape: edges are collapsed where that moves the surface least.

Quadric error (Garland and Heckbert, 1997): each vertex carries the matrix Q of the squared distances to the planes of
its faces; the edge (a, b) becomes the point x that makes xᵀ(Q_a + Q_b)x least. Many edges that share no vertex are
collapsed at a time, so that a round is array work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

OPEN = 10.0
"""How much an open edge counts, and how much one between two colours of full contrast, beside the faces' planes."""
FLIP = 1e6
"""Cost of turning a face round: beyond all others, but not forbidden, so that every budget is reached."""
SMOOTH = 1e-6
"""Cost of length, per square metre: on flat ground short edges go first."""


@dataclass(frozen=True)
class Surface:
    """Triangles without order: no part needs to be closed or to be joined to another."""

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    colours: Float[np.ndarray, "f 3"]

    @property
    def normals(self) -> Float[np.ndarray, "f 3"]:
        """Of length twice the face's area."""
        a, b, c = np.moveaxis(self.vertices[self.faces], 1, 0)
        return np.cross(b - a, c - a)

    @property
    def areas(self) -> Float[np.ndarray, " f"]:
        """Of each face."""
        return np.linalg.norm(self.normals, axis=1) / 2

    def only(self, kept: np.ndarray) -> Surface:
        """Some of the faces."""
        return replace(self, faces=self.faces[kept], colours=self.colours[kept])


def weld(surface: Surface, cell: float) -> Surface:
    """Vertices in the same cell of a grid become one, at their mean; faces that vanish or repeat are dropped."""
    used, faces = np.unique(surface.faces, return_inverse=True)
    vertices = surface.vertices[used]
    place = np.round((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    _, group = np.unique(_key(place), return_inverse=True)
    count = np.bincount(group)
    mean = np.stack([np.bincount(group, vertices[:, k]) / count for k in range(3)], axis=1)
    welded = replace(surface, vertices=mean, faces=group[faces.reshape(-1, 3)])
    return welded.only(_sound(welded.faces, either_way=True))


def thin_out(surface: Surface, size: float, most: int) -> Surface:
    """Weld on coarser and coarser grids until at most this many faces are left."""
    cells = 2000.0
    welded = weld(surface, size / cells)
    while len(welded.faces) > most:
        cells = 128.0 if cells > 128 else cells * 0.8
        welded = weld(surface, size / cells)
    return welded


def simplify(
    surface: Surface, most: int, weight: Int[np.ndarray, " f"] | None = None
) -> tuple[Surface, Int[np.ndarray, " f"]]:
    """Collapse edges until the faces' weights (1 each unless given) sum to ``most`` or less; surface and weights."""
    weight = np.ones(len(surface.faces), int) if weight is None else weight
    vertices, quadrics = surface.vertices.copy(), _quadrics(surface)
    while (excess := int(weight.sum()) - most) > 0:
        edges = _edges(surface.faces)[0]
        place, cost = _places(vertices, quadrics, edges)
        first = np.argsort(cost, kind="stable")[: max(64, len(edges) // 3)]
        edges, place, cost = edges[first], place[first], cost[first]
        cost = cost + FLIP * _turned(vertices, surface.faces, edges, place)
        chosen = _apart(edges, cost, len(vertices), max(1, excess // 4))
        a, b = edges[chosen].T
        vertices[a] = place[chosen]
        quadrics[a] += quadrics[b]
        to = np.arange(len(vertices))
        to[b] = a
        faces = to[surface.faces]
        kept = _sound(faces, either_way=False)
        surface = Surface(vertices, faces[kept], surface.colours[kept])
        weight = weight[kept]
    return surface, weight


def _sound(faces: Int[np.ndarray, "f 3"], either_way: bool) -> Bool[np.ndarray, " f"]:
    """Faces with three different corners, each once; ``either_way`` takes a face and its back for the same."""
    rolled = np.sort(faces, axis=1) if either_way else _least_first(faces)
    _, first = np.unique(_key(rolled), return_index=True)
    once = np.zeros(len(faces), bool)
    once[first] = True
    a, b, c = faces.T
    return once & (a != b) & (b != c) & (c != a)


def _least_first(faces: Int[np.ndarray, "f 3"]) -> Int[np.ndarray, "f 3"]:
    start = faces.argmin(axis=1)[:, None]
    return np.take_along_axis(faces, (start + np.arange(3)) % 3, axis=1)


def _edges(faces: Int[np.ndarray, "f 3"]) -> tuple[Int[np.ndarray, "e 2"], Int[np.ndarray, "f 3"]]:
    """The undirected edges, and for each face those from its corners 0, 1 and 2."""
    pairs = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    _, first, which = np.unique(_key(pairs), return_index=True, return_inverse=True)
    return pairs[first], which.reshape(-1, 3)


def _key(rows: Int[np.ndarray, "n k"]) -> Int[np.ndarray, " n"]:
    """One number for each row, equal for equal rows alone (of three numbers, each up to two million)."""
    base = int(rows.max(initial=0)) + 1
    return rows @ base ** np.arange(rows.shape[1] - 1, -1, -1)


def _quadrics(surface: Surface) -> Float[np.ndarray, "v 4 4"]:
    """Σ area · ppᵀ over the planes p of a vertex's faces, and of walls that stand on open and two-coloured edges."""
    corners, normals = surface.vertices[surface.faces], surface.normals
    double = np.linalg.norm(normals, axis=1, keepdims=True)
    unit = normals / np.maximum(double, 1e-12)
    quadrics = np.zeros((len(surface.vertices), 4, 4))
    plane = _outer(unit, corners[:, 0]) * (double[:, 0] / 2)[:, None, None]
    for k in range(3):
        np.add.at(quadrics, surface.faces[:, k], plane)
    edges, which = _edges(surface.faces)
    count = np.bincount(which.ravel(), minlength=len(edges))
    low, high = np.full((len(edges), 3), 2.0), np.full((len(edges), 3), -1.0)
    for k in range(3):
        np.minimum.at(low, which[:, k], surface.colours)
        np.maximum.at(high, which[:, k], surface.colours)
    guard = OPEN * np.where(count == 1, 1.0, (high - low).max(axis=1))
    for k in range(3):
        along = corners[:, (k + 1) % 3] - corners[:, k]
        square = (along**2).sum(axis=1)
        wall = np.cross(along, unit) / np.maximum(np.sqrt(square), 1e-12)[:, None]
        term = _outer(wall, corners[:, k]) * (square * guard[which[:, k]])[:, None, None]
        np.add.at(quadrics, surface.faces[:, k], term)
        np.add.at(quadrics, surface.faces[:, (k + 1) % 3], term)
    return quadrics


def _outer(normal: Float[np.ndarray, "n 3"], point: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 4 4"]:
    plane = np.concatenate([normal, -(normal * point).sum(axis=1, keepdims=True)], axis=1)
    return plane[:, :, None] * plane[:, None, :]


def _places(
    vertices: np.ndarray, quadrics: np.ndarray, edges: Int[np.ndarray, "e 2"]
) -> tuple[Float[np.ndarray, "e 3"], Float[np.ndarray, " e"]]:
    """Where each edge would best shrink to, and what that costs."""
    a, b = vertices[edges[:, 0]], vertices[edges[:, 1]]
    middle, length = (a + b) / 2, np.linalg.norm(b - a, axis=1)
    q = quadrics[edges].sum(axis=1)
    # A little pull to the middle: flat and straight places leave the best point open.
    pull = 1e-3 * np.trace(q[:, :3, :3], axis1=1, axis2=2) + 1e-12
    matrix = q[:, :3, :3] + pull[:, None, None] * np.eye(3)
    best = np.linalg.solve(matrix, (pull[:, None] * middle - q[:, :3, 3])[..., None])[..., 0]
    far = np.linalg.norm(best - middle, axis=1) > length
    best[far] = middle[far]
    x = np.concatenate([best, np.ones((len(best), 1))], axis=1)
    return best, np.abs(np.einsum("ei,eij,ej->e", x, q, x)) + SMOOTH * length**2


def _turned(
    vertices: np.ndarray, faces: np.ndarray, edges: Int[np.ndarray, "e 2"], place: Float[np.ndarray, "e 3"]
) -> Int[np.ndarray, " e"]:
    """How many faces beside each edge would turn by more than about 80° if it shrank."""
    by_vertex = np.argsort(faces.ravel(), kind="stable")
    count = np.bincount(faces.ravel(), minlength=len(vertices))
    start = np.cumsum(count) - count
    turned = np.zeros(len(edges), int)
    for end in (0, 1):
        here, there = edges[:, end], edges[:, 1 - end]
        edge = np.repeat(np.arange(len(edges)), count[here])
        within = np.arange(len(edge)) - np.repeat(np.cumsum(count[here]) - count[here], count[here])
        face, corner = np.divmod(by_vertex[start[here][edge] + within], 3)
        stays = (faces[face] != there[edge][:, None]).all(axis=1)
        edge, face, corner = edge[stays], face[stays], corner[stays]
        p = vertices[faces[face, corner]]
        q, r = vertices[faces[face, (corner + 1) % 3]], vertices[faces[face, (corner + 2) % 3]]
        old, new = np.cross(q - p, r - p), np.cross(q - place[edge], r - place[edge])
        size = np.linalg.norm(old, axis=1) * np.linalg.norm(new, axis=1)
        bad = (old * new).sum(axis=1) < 0.2 * size
        turned += np.bincount(edge, bad, minlength=len(edges)).astype(int)
    return turned


def _apart(edges: Int[np.ndarray, "e 2"], cost: Float[np.ndarray, " e"], vertices: int, most: int) -> np.ndarray:
    """The cheapest edges of which each is the cheapest at both its ends; at least one, and at most so many."""
    order = np.argsort(cost, kind="stable")
    rank = np.empty(len(edges), int)
    rank[order] = np.arange(len(edges))
    least = np.full(vertices, len(edges))
    for end in (0, 1):
        np.minimum.at(least, edges[:, end], rank)
    free = (rank == least[edges[:, 0]]) & (rank == least[edges[:, 1]])
    chosen = order[free[order]][:most]
    return chosen[: max(1, int((cost[chosen] < FLIP).sum()))]
