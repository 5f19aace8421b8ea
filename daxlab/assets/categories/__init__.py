"""Generators for the 31 ShapeNet classes of the paper's category extension: any number of exemplars of each.

The paper gives the classes and how many ShapeNetSem models it kept of each (1,437 in all). It does not say which
classes were held out, nor how many: ``HELDOUT_CATEGORIES`` is our choice. Every fourth name gives shares near those of
the everyday objects (30 to train, 10 held out). Where to begin was chosen by looking at the classes: from the fourth
name, four of seven would have been office machines; from the third, the eight are unlike each other, but three (bed,
coffee table, wine bottle) have a near relative among the training classes (bunk bed, table, bottle). Of sizes the paper
says only "reasonable"; ours are those of the everyday objects, so that all can be lifted.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from daxlab.assets.categories import lamps, machines, seats, storage, things, vessels
from daxlab.assets.mesh import Bank, Mesh, build_bank
from daxlab.errors import DaxlabError, unknown

CATEGORIES: Mapping[str, Callable[[np.random.Generator], Mesh]] = MappingProxyType(
    {
        "armoire": storage.armoire,
        "bag": storage.bag,
        "bed": seats.bed,
        "book": things.book,
        "bookcase": storage.bookcase,
        "bottle": vessels.bottle,
        "box": storage.carton,
        "bunk bed": seats.bunk_bed,
        "chair": seats.chair,
        "chest of drawers": storage.chest_of_drawers,
        "coffee table": seats.coffee_table,
        "computer": machines.computer,
        "floor lamp": lamps.floor_lamp,
        "glass": vessels.glass,
        "hammer": things.hammer,
        "keyboard": machines.keyboard,
        "lamp": lamps.lamp,
        "loudspeaker": machines.loudspeaker,
        "microwave": machines.microwave,
        "monitor": machines.monitor,
        "mug": vessels.mug,
        "piano": things.piano,
        "plant": things.plant,
        "printer": machines.printer,
        "rug": things.rug,
        "soda can": vessels.soda_can,
        "sofa": seats.sofa,
        "stool": seats.stool,
        "table": seats.table,
        "vase": vessels.vase,
        "wine bottle": vessels.wine_bottle,
    }
)
"""The paper's names, in its (alphabetical) order, each with the function that makes an exemplar from random draws."""

HELDOUT_CATEGORIES: tuple[str, ...] = tuple(CATEGORIES)[2::4]
"""Never met in training: bed, box, coffee table, hammer, microwave, plant, sofa, wine bottle."""
TRAIN_CATEGORIES: tuple[str, ...] = tuple(name for name in CATEGORIES if name not in HELDOUT_CATEGORIES)
"""The other 23."""


def exemplar(category: str, seed: int) -> Mesh:
    """The exemplar of a class that a seed (0, 1, 2, …) names: always the same mesh for the same two."""
    if category not in CATEGORIES:
        raise unknown("category", category, CATEGORIES)
    if seed < 0:
        raise DaxlabError(f"an exemplar's seed must be 0 or more; got {seed}")
    return CATEGORIES[category](np.random.default_rng([zlib.crc32(category.encode()), seed]))


def exemplars(categories: tuple[str, ...], per_class: int, first: int = 0) -> dict[str, Mesh]:
    """Seeds ``first`` … ``first + per_class - 1`` of each class by names such as "bunk bed 3", class after class.

    So the mesh of class c and exemplar e has the index ``c * per_class + e``.
    """
    if per_class < 1:
        raise DaxlabError(f"a class needs 1 exemplar or more; got {per_class}")
    return {f"{name} {seed}": exemplar(name, seed) for name in categories for seed in range(first, first + per_class)}


@cache
def bank(categories: tuple[str, ...] = tuple(CATEGORIES), per_class: int = 16, first: int = 0) -> Bank:
    """Those exemplars for the renderer; the same object for the same arguments (renderers compile for a bank).

    A mesh has 32 to 128 triangles, 101 on average, and takes 6 kB (all are padded to ``MAX_FACES``) and some 2.4 ms of
    one core to make.
    """
    return build_bank(exemplars(categories, per_class, first))
