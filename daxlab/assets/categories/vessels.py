"""Classes turned on a lathe: bottle, glass, mug, soda can, vase, wine bottle."""

from __future__ import annotations

import numpy as np

from daxlab.assets.categories.kit import BRIGHT, CERAMIC, Rng, against, chance, fitted, hue, pick, shade, span
from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import (
    AMBER,
    BLACK,
    BLUE,
    BROWN,
    CREAM,
    CRIMSON,
    CYAN,
    FOREST,
    GOLD,
    GREEN,
    LIME,
    MAGENTA,
    NAVY,
    ORANGE,
    PINK,
    RED,
    SILVER,
    SKY,
    WHITE,
    YELLOW,
)
from daxlab.assets.shapes import Colour, Part, box, cone, cylinder, lathe, tube

CLEAR: Colour = (0.74, 0.95, 1.0)
"""Glass."""
COFFEE: Colour = (0.30, 0.11, 0.02)


def bottle(rng: Rng) -> Mesh:
    """Plastic: a short neck and a broad bright cap; for water, milk, sauce or pills."""
    make = pick(rng, (_water_bottle, _water_bottle, _milk_bottle, _sauce_bottle, _pill_bottle))
    return fitted(rng, *make(rng))


def _water_bottle(rng: Rng) -> list[Part]:
    body, label = pick(rng, (CYAN, SKY, BLUE, CLEAR, LIME)), pick(rng, (WHITE, YELLOW, RED, ORANGE))
    r, waist, neck = span(rng, 0.2, 0.25), span(rng, 0.78, 0.92), span(rng, 0.09, 0.12)
    low, high = span(rng, 0.24, 0.32), span(rng, 0.5, 0.58)
    profile = [(r, 0), (r, low), (r * waist, low + 0.04), (r * waist, high), (r, high + 0.05), (neck, 0.84)]
    part = lathe([body, body, label, body, body, body], [*profile, (neck, 0.88)], n=8)
    return [part, cylinder(pick(rng, BRIGHT), neck * 1.35, 0.12, n=6).move(z=0.86)]


def _milk_bottle(rng: Rng) -> list[Part]:
    body, cap = pick(rng, (WHITE, CREAM, PINK, BROWN)), pick(rng, BRIGHT)
    r, neck, shoulder = span(rng, 0.2, 0.26), span(rng, 0.12, 0.15), span(rng, 0.5, 0.6)
    profile = [(r, 0), (r, 0.2), (r, 0.38), (r, shoulder), (neck, shoulder + 0.2), (neck, 0.9)]
    part = lathe([body, cap, body, body, body], profile, n=pick(rng, (4, 8)))
    return [part, cylinder(cap, neck * 1.3, 0.12, n=8).move(z=0.88)]


def _sauce_bottle(rng: Rng) -> list[Part]:
    body = pick(rng, (RED, YELLOW, GREEN, CRIMSON, ORANGE))
    r, tip = span(rng, 0.18, 0.24), against(rng, (WHITE, RED, YELLOW, GREEN), body)
    profile = [(r * 0.9, 0), (r, 0.22), (r, 0.45), (r * 0.95, 0.6), (r * 0.5, 0.72)]
    part = lathe([body, pick(rng, (WHITE, tip)), body, body], profile, n=8)
    return [part, cylinder(tip, r * 0.62, 0.08, n=6).move(z=0.7), cone(tip, r * 0.4, 0.3, n=6).move(z=0.77)]


def _pill_bottle(rng: Rng) -> list[Part]:
    body, r = pick(rng, (AMBER, ORANGE, BROWN, FOREST, BLUE)), span(rng, 0.24, 0.32)
    cap = against(rng, (WHITE, BLACK, RED), body)
    profile = [(r, 0), (r, 0.16), (r, 0.5), (r, 0.58), (r * 0.7, 0.66), (r * 0.7, 0.7)]
    part = lathe([body, WHITE, body, body, body], profile, n=8)
    return [part, cylinder(cap, r * 0.85, 0.2, n=8).move(z=0.68)]


def glass(rng: Rng) -> Mesh:
    """For drinking: tumbler, wine glass, cocktail glass or flute, clear, with a drink in it."""
    drink = pick(rng, (MAGENTA, ORANGE, AMBER, CRIMSON, LIME, YELLOW, SKY, COFFEE, PINK))
    kind = pick(rng, ("tumbler", "tumbler", "wine", "cocktail", "flute"))
    if kind == "tumbler":
        r, h = span(rng, 0.2, 0.34), span(rng, 0.75, 1.0)
        foot, fill = r * span(rng, 0.68, 0.95), span(rng, 0.45, 0.75)
        wall = [(foot + (r - foot) * f, h * f) for f in (0, 0.1, fill, 1)]
        inside = [(r * 0.86, h), (wall[2][0] * 0.86, h * (fill - 0.06))]
        return fitted(rng, lathe([CLEAR, drink, CLEAR, CLEAR, drink], [*wall, *inside], n=pick(rng, (6, 8, 10))))
    stem, foot = 0.035, span(rng, 0.2, 0.26)
    neck = span(rng, 0.36, 0.46)
    base = [(foot, 0), (stem, 0.06), (stem, neck)]
    if kind == "cocktail":
        r = span(rng, 0.32, 0.4)
        bowl = [(r * 0.7, 0.84), (r, 1.0), (r * 0.9, 1.0), (r * 0.6, 0.83)]
        return fitted(rng, lathe([CLEAR, CLEAR, drink, CLEAR, CLEAR, drink], [*base, *bowl], n=8))
    r = span(rng, 0.24, 0.33) if kind == "wine" else span(rng, 0.14, 0.18)
    if kind == "flute":
        base = [(0.2, 0), (stem, 0.06), (stem, 0.3)]
    low = base[-1][1]
    bowl = [(r, low + (0.16 if kind == "wine" else 0.2)), (r * 1.05, 0.78), (r * 0.85, 1.0), (r * 0.75, 1.0)]
    return fitted(rng, lathe([CLEAR, CLEAR, drink, drink, CLEAR, CLEAR, drink], [*base, *bowl, (r * 0.9, 0.74)], n=8))


def mug(rng: Rng) -> Mesh:
    """Thick cup with a handle at its side and a dark drink in it, plain or with a stripe."""
    h, r = span(rng, 0.8, 1.15), span(rng, 0.38, 0.5)
    glaze = hue(rng, (*BRIGHT, WHITE, NAVY, BLACK))
    stripe = against(rng, (*BRIGHT, WHITE), glaze) if chance(rng, 0.6) else glaze
    low, high = h * span(rng, 0.2, 0.4), h * span(rng, 0.55, 0.8)
    foot, lip = r * span(rng, 0.75, 1.05), r * span(rng, 0.95, 1.1)
    rim = WHITE if chance(rng) else glaze
    profile = [(foot, 0), (r, low), (r, high), (lip, h), (lip * 0.84, h), (lip * 0.8, h * 0.82)]
    cup = lathe([glaze, stripe, glaze, rim, COFFEE], profile, n=8)
    out, top, bottom = r + span(rng, 0.26, 0.4), h * span(rng, 0.72, 0.88), h * span(rng, 0.2, 0.34)
    path = [(r * 0.92, 0, top), (out, 0, top), (out, 0, bottom), (r * 0.9, 0, bottom)]
    return fitted(rng, cup, tube(glaze, path, span(rng, 0.07, 0.1), n=4))


def soda_can(rng: Rng) -> Mesh:
    """Drum with drawn-in ends, silver lid with a tab, and a loud label."""
    r, h = span(rng, 0.25, 0.34), span(rng, 0.88, 1.0)
    paint = pick(rng, (RED, BLUE, GREEN, ORANGE, BLACK, MAGENTA, LIME, CYAN, WHITE, YELLOW))
    logo = against(rng, (WHITE, RED, YELLOW, BLUE, BLACK, GREEN), paint)
    low, high = h * span(rng, 0.3, 0.45), h * span(rng, 0.55, 0.72)
    rings = [(r * 0.8, 0), (r, 0.07), (r, low), (r, high), (r, h - 0.09), (r * 0.84, h)]
    can = lathe([SILVER, paint, logo, paint, SILVER], rings, n=8)
    if chance(rng):
        can = can.paint_where(paint, lambda m: (np.abs(m[:, 2] - h / 2) < h * 0.35) & (m[:, 0] * m[:, 1] > 0))
    lid = cylinder(shade(SILVER, 0.6), r * 0.66, 0.02, n=6).move(z=h - 0.005)
    tab = box(pick(rng, (SILVER, BLACK, paint)), r * 0.3, r * 0.7, 0.05).move(y=-r * 0.15, z=h)
    return fitted(rng, can.paint_facing(SILVER, (0, 0, 1), 10), lid, tab)


def vase(rng: Rng) -> Mesh:
    """Open ceramic vessel with a swelling body, a neck and a lip, banded; some with two ears."""
    clay = hue(rng, CERAMIC)
    band = against(rng, (*CERAMIC, *BRIGHT), clay)
    dark = shade(clay, 0.2)
    kind = pick(rng, ("belly", "belly", "ears", "trumpet", "jar"))
    n = pick(rng, (6, 8, 8))
    belly, at, foot = span(rng, 0.28, 0.42), span(rng, 0.32, 0.5), span(rng, 0.14, 0.22)
    neck, lip = span(rng, 0.09, 0.14), span(rng, 0.18, 0.28)
    if kind == "trumpet":
        lip = span(rng, 0.32, 0.42)
        profile = [(0.22, 0), (0.1, 0.14), (0.13, 0.4), (0.17, 0.6), (0.22, 0.8), (lip, 1.0)]
        inside = [(lip * 0.85, 1.0), (0.14, 0.75)]
        return fitted(rng, lathe([clay, clay, band, clay, clay, clay, dark], [*profile, *inside], n=n))
    if kind == "jar":
        mouth = span(rng, 0.18, 0.26)
        profile = [(foot, 0), (foot * 1.1, 0.2), (belly * 0.9, 0.48), (belly, 0.72), (mouth, 0.86), (mouth * 1.1, 0.95)]
        inside = [(mouth * 0.9, 0.95), (mouth * 0.7, 0.8)]
        return fitted(rng, lathe([clay, clay, band, clay, clay, clay, dark], [*profile, *inside], n=n))
    profile = [(foot, 0), (belly * 0.92, at - 0.12), (belly, at), (belly * 0.8, at + 0.13), (neck, 0.8), (lip, 1.0)]
    sides = 6 if kind == "ears" else n
    pot = lathe([clay, band, band, clay, clay, dark], [*profile, (lip * 0.7, 0.94)], n=sides)
    if kind == "belly":
        return fitted(rng, pot)
    out = max(belly * 0.95, lip + 0.08)
    ear = tube(band, [(neck * 0.8, 0, 0.88), (out, 0, 0.82), (belly * 0.8, 0, at + 0.1)], 0.045, n=3)
    return fitted(rng, pot, ear.both("x"))


def wine_bottle(rng: Rng) -> Mesh:
    """Dark glass with a long thin neck, a paper label and a foil over the cork."""
    body = hue(rng, (FOREST, (0.02, 0.22, 0.10), (0.25, 0.03, 0.08), (0.20, 0.10, 0.03), (0.45, 0.55, 0.05)))
    label, foil = pick(rng, (CREAM, WHITE, CREAM, GOLD)), pick(rng, (CRIMSON, GOLD, BLACK, RED, WHITE))
    r, neck = span(rng, 0.2, 0.25), span(rng, 0.065, 0.08)
    shoulder = span(rng, 0.44, 0.54)
    top = shoulder + span(rng, 0.08, 0.22)
    cut = span(rng, top + 0.03, 0.88)
    low, high = span(rng, 0.08, 0.16), shoulder - span(rng, 0.04, 0.1)
    below = [(r, 0), (r, low), (r, high), (r, shoulder), (neck, top), (neck, cut)]
    above = [(neck * 1.25, cut + 0.02), (neck * 1.1, 1.0)]
    return fitted(rng, lathe([body, label, body, body, body, foil, foil], [*below, *above], n=8))
