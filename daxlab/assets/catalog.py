"""All our things by name, and the bank that holds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from daxlab.assets import heldout, home, kitchen, toys, vehicles
from daxlab.assets.furniture import FURNITURE
from daxlab.assets.mesh import Bank, Mesh, build_bank
from daxlab.errors import unknown

_TRAIN: dict[str, Callable[[], Mesh]] = {
    "boat": vehicles.boat,
    "book": home.book,
    "bottle": kitchen.bottle,
    "cake": kitchen.cake,
    "camera": home.camera,
    "car": vehicles.car,
    "chair": home.chair,
    "clock": home.clock,
    "cup": kitchen.cup,
    "cushion": home.cushion,
    "drum": toys.drum,
    "duck": toys.duck,
    "football": toys.football,
    "glass": kitchen.glass,
    "guitar": toys.guitar,
    "hammer": home.hammer,
    "hat": home.hat,
    "kettle": kitchen.kettle,
    "lamp": home.lamp,
    "penguin": toys.penguin,
    "plane": vehicles.plane,
    "plant": home.plant,
    "present": home.present,
    "robot": toys.robot,
    "rocket": vehicles.rocket,
    "shoe": home.shoe,
    "teddy": toys.teddy,
    "train": vehicles.train,
    "umbrella": home.umbrella,
    "vase": home.vase,
}
_HELDOUT: dict[str, Callable[[], Mesh]] = {
    "banana": heldout.banana,
    "bus": vehicles.bus,
    "cactus": heldout.cactus,
    "candle": heldout.candle,
    "dinosaur": heldout.dinosaur,
    "hairdryer": heldout.hairdryer,
    "mushroom": heldout.mushroom,
    "pineapple": heldout.pineapple,
    "snowman": heldout.snowman,
    "windmill": heldout.windmill,
}

TRAIN_OBJECTS: tuple[str, ...] = tuple(_TRAIN)
"""The paper's G: 30 objects met in training, in alphabetical order."""
HELDOUT_OBJECTS: tuple[str, ...] = tuple(_HELDOUT)
"""The paper's H: 10 objects never met in training, in alphabetical order."""
FURNITURE_NAMES: tuple[str, ...] = tuple(name for name in FURNITURE if name != "ring")
"""Immovable pieces that a level can ask for, in alphabetical order; the ring comes with the desks that need it."""


@cache
def object_mesh(name: str) -> Mesh:
    """The mesh of a movable object."""
    builders = _TRAIN | _HELDOUT
    if name not in builders:
        raise unknown("object", name, builders)
    return builders[name]()


@cache
def bank() -> Bank:
    """Every mesh: the training objects, the held-out objects, then the furniture."""
    objects = {name: object_mesh(name) for name in TRAIN_OBJECTS + HELDOUT_OBJECTS}
    return build_bank(objects | {name: build().mesh for name, build in FURNITURE.items()})
