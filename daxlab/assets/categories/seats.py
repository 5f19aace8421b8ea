"""Classes to sit, lie and eat at: bed, bunk bed, chair, coffee table, sofa, stool, table. They look towards -y."""

from __future__ import annotations

from daxlab.assets.categories.kit import (
    FABRICS,
    METALS,
    PAINTED,
    WOODS,
    Rng,
    against,
    bar,
    block,
    chance,
    fitted,
    hue,
    leg,
    legs,
    oblong,
    pick,
    shade,
    span,
    strip,
)
from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import BLACK, BROWN, CREAM, ICE, WHITE
from daxlab.assets.shapes import Part, box, cylinder, extrude, join


def bed(rng: Rng) -> Mesh:
    """Mattress with pillows and a blanket, a headboard behind, sometimes a footboard."""
    w, long, z = span(rng, 0.55, 0.85), 1.1, span(rng, 0.14, 0.22)
    wood, cloth = hue(rng, PAINTED), hue(rng, FABRICS)
    pillow = against(rng, (WHITE, CREAM, *FABRICS), WHITE) if chance(rng, 0.3) else WHITE
    sheet = WHITE if min(cloth) < 0.8 else CREAM
    head, foot = long / 2, -long / 2
    frame = block(wood, (-w / 2, w / 2), (foot, head), (z * 0.5, z))
    mattress = block(sheet, (-w * 0.47, w * 0.47), (foot + 0.02, head - 0.02), (z, z + 0.12))
    turn_down = head - span(rng, 0.32, 0.5)
    blanket = block(cloth, (-w * 0.5, w * 0.5), (foot + 0.01, turn_down), (z * 0.9, z + 0.15))
    top = z + 0.12
    count = 2 if w > 0.68 else 1
    size = (w * 0.8, 0.2) if count == 1 else (w * 0.38, 0.2)
    cushion = box(pillow, *size, 0.09, top=0.75).move(y=head - 0.16, z=top)
    pillows = cushion if count == 1 else cushion.move(x=w * 0.22).both("x")
    rise = span(rng, 0.42, 0.62)
    if chance(rng):
        arch = [(-w * 0.52, 0), (w * 0.52, 0), (w * 0.52, rise * 0.75), (w * 0.25, rise), (-w * 0.25, rise)]
        board = extrude(wood, [*arch, (-w * 0.52, rise * 0.75)], 0.06).move(y=head)
    else:
        board = box(wood, w * 1.04, 0.06, rise).move(y=head)
    parts = [frame, mattress, blanket, pillows, board]
    if chance(rng):
        parts.append(box(wood, w * 1.04, 0.06, z + span(rng, 0.1, 0.2)).move(y=foot))
    else:
        parts.append(legs(shade(wood, 0.6), w, long, z * 0.6, 0.08, n=3))
    return fitted(rng, *parts)


def bunk_bed(rng: Rng) -> Mesh:
    """Two beds, one above the other, between posts or panels, with a ladder at the front."""
    w, long, high = span(rng, 0.42, 0.55), 1.0, span(rng, 0.85, 1.1)
    wood = hue(rng, PAINTED)
    covers = [against(rng, FABRICS, wood, WHITE) for _ in range(2)]
    decks = (0.14, high * span(rng, 0.58, 0.66))
    parts: list[Part] = []
    for cover, z in zip(covers, decks, strict=True):
        parts.append(block(wood, (-long / 2, long / 2), (-w / 2, w / 2), (z, z + 0.08)))
        parts.append(strip([WHITE, cover], (-0.46, -0.2, 0.46), oblong((-w * 0.47, w * 0.47), (z + 0.08, z + 0.18))))
    front = -w / 2 - 0.06
    rails = leg(wood, (0.14, front), decks[1] + 0.2, 0.06, n=3)
    if chance(rng):
        parts.append(block(wood, (long / 2 - 0.05, long / 2), (-w / 2, w / 2), (0.0, high)).both("x"))
        rails += leg(wood, (0.4, front), decks[1] + 0.2, 0.06, n=3)
    else:
        parts.append(legs(wood, long, w, high, 0.09, n=3))
    rungs = [bar(wood, (0.14, 0.44), (front, front + 0.05), (z, z + 0.05)) for z in (0.25, 0.4, 0.55)]
    return fitted(rng, *parts, rails, *rungs)


def chair(rng: Rng) -> Mesh:
    """Seat, legs and a back: of slats, spindles or one panel; with or without arms; or an office chair."""
    if chance(rng, 0.25):
        return _office_chair(rng)
    w, d, z = span(rng, 0.42, 0.55), span(rng, 0.42, 0.52), span(rng, 0.4, 0.48)
    rise = span(rng, 0.42, 0.62)
    wood = hue(rng, PAINTED)
    cloth = against(rng, FABRICS, wood)
    seat = box(wood, w, d, 0.06).move(z=z - 0.03)
    parts = [legs(wood, w, d, z, 0.065, splay=span(rng, 0.0, 0.04)), seat]
    style = pick(rng, ("panel", "slats", "spindles", "arms"))
    y = d / 2 - 0.035
    if style in ("panel", "arms"):
        back = cloth if chance(rng) else wood
        parts.append(box(back, w * span(rng, 0.8, 1.0), 0.06, rise, top=(span(rng, 0.8, 1.05), 1.0)).move(y=y, z=z))
    else:
        posts = leg(wood, (w / 2 - 0.035, y), rise, 0.065, head=(w / 2 - 0.035, y + 0.03)).both("x").move(z=z)
        parts.append(posts)
        if style == "slats":
            parts += [box(wood, w - 0.08, 0.04, 0.09).move(y=y + 0.02, z=z + rise * f) for f in (0.4, 0.78)]
        else:
            parts.append(box(wood, w, 0.05, 0.09).move(y=y + 0.03, z=z + rise * 0.9))
            parts += [leg(cloth, (x, y), rise, 0.04, n=3, head=(x, y + 0.03)).move(z=z) for x in (-0.08, 0.08)]
    if style == "arms":
        arm = block(wood, (w / 2 - 0.06, w / 2), (-d / 2, d / 2), (z + 0.2, z + 0.25))
        post = leg(wood, (w / 2 - 0.03, -d / 2 + 0.04), 0.21, 0.05, n=3).move(z=z)
        parts.append((arm + post).both("x"))
    else:
        parts.append(box(cloth, w * 0.9, d * 0.85, 0.05, top=0.9).move(y=-0.02, z=z + 0.03))
    return fitted(rng, *parts)


def _office_chair(rng: Rng) -> Mesh:
    cloth, metal = hue(rng, (*FABRICS, BLACK)), pick(rng, METALS)
    spoke = leg(metal, (0.3, 0.0), 0.1, 0.08, n=3, head=(0.02, 0.0))
    base = [spoke.turn("z", 72 * i - 18) for i in range(5)]
    column = leg(metal, (0, 0), 0.4, 0.08)
    w, z, rise = span(rng, 0.48, 0.58), 0.42, span(rng, 0.45, 0.7)
    seat = box(cloth, w, w * 0.95, 0.1, top=0.92).move(z=z)
    back = box(cloth, w * 0.9, 0.09, rise, top=(span(rng, 0.7, 1.0), 0.8)).turn("x", -8).move(y=w * 0.45, z=z + 0.12)
    spine = leg(metal, (0, w * 0.4), 0.3, 0.08, n=3, head=(0, w * 0.5)).move(z=z)
    parts = [*base, column, seat, back, spine]
    if chance(rng):
        arm = block(metal, (w / 2, w / 2 + 0.07), (-0.15, 0.2), (z + 0.22, z + 0.27))
        parts.append((arm + leg(metal, (w / 2 + 0.03, 0.0), 0.2, 0.06, n=3).move(z=z + 0.03)).both("x"))
    return fitted(rng, *parts)


def coffee_table(rng: Rng) -> Mesh:
    """Low and long, a cup on it: a wooden or glass top on legs, over a shelf or between panels; some are oval."""
    w, d, h = 1.0, span(rng, 0.5, 0.66), span(rng, 0.33, 0.42)
    wood = hue(rng, PAINTED)
    top = pick(rng, (wood, wood, ICE, WHITE, BLACK))
    style = pick(rng, ("shelf", "plain", "oval", "panels"))
    ware = against(rng, FABRICS, top)
    cup = cylinder(ware, 0.06, 0.11, n=6, top=1.2).move(span(rng, -0.25, 0.25), span(rng, -0.1, 0.1), h - 0.01)
    if style == "oval":
        plate = cylinder(top, 0.5, 0.06, n=10).scale(y=d).move(z=h - 0.06)
        return fitted(rng, plate, cup, legs(wood, w * 0.62, d * 0.66, h - 0.05, 0.08, splay=span(rng, 0, 0.08)))
    plate = box(top, w, d, 0.07).move(z=h - 0.07) + cup
    if style == "panels":
        sides = block(wood, (w / 2 - 0.14, w / 2 - 0.06), (-d * 0.45, d * 0.45), (0, h - 0.05)).both("x")
        return fitted(rng, plate, sides, box(wood, w * 0.8, d * 0.8, 0.05).move(z=h * 0.3))
    parts = [plate, legs(wood, w * 0.96, d * 0.96, h - 0.06, span(rng, 0.06, 0.11))]
    if style == "shelf":
        parts.append(box(shade(wood, 0.8), w * 0.9, d * 0.85, 0.05).move(z=h * 0.25))
    return fitted(rng, *parts)


def sofa(rng: Rng) -> Mesh:
    """Long seat with cushions between two arms and a back; sometimes with a chaise at one end."""
    seats = pick(rng, (2, 2, 3))
    w, d, z = 0.42 * seats + span(rng, 0.1, 0.3), span(rng, 0.5, 0.62), span(rng, 0.2, 0.28)
    cloth = hue(rng, (*FABRICS, BROWN, BLACK))
    arm, rise, high = span(rng, 0.1, 0.17), span(rng, 0.36, 0.52), span(rng, 0.12, 0.24)
    parts = [box(shade(cloth, 0.7), w, d, z - 0.04).move(z=0.04)]
    parts.append(box(cloth, w, 0.16, rise + z, top=(0.96, 0.7)).move(y=d / 2 - 0.02, z=0.04))
    parts.append(block(cloth, (w / 2 - arm, w / 2), (-d / 2 - 0.02, d / 2), (0.04, z + high)).both("x"))
    inner = w - 2 * arm
    step = inner / seats
    cushion = shade(cloth, 1.25) if chance(rng, 0.6) else against(rng, FABRICS, cloth)
    for i in range(seats):
        x = -inner / 2 + (i + 0.5) * step
        parts.append(box(cushion, step * 0.95, d * 0.8, 0.1, top=0.93).move(x=x, y=-0.07, z=z))
    if chance(rng, 0.6):
        throw = box(against(rng, FABRICS, cloth, cushion), 0.22, 0.08, 0.22)
        parts.append(throw.turn("y", 20).turn("x", -15).move(x=inner * 0.32, y=d * 0.18, z=z + 0.12))
    if seats == 2 and chance(rng, 0.4):
        parts.append(block(cushion, (-inner / 2, -inner / 2 + step), (-d, -d / 2), (0.04, z + 0.08)))
    parts.append(legs(pick(rng, WOODS), w, d, 0.06, 0.08, n=3))
    return fitted(rng, *parts)


def stool(rng: Rng) -> Mesh:
    """A small seat on high legs or on one column; no back."""
    r = span(rng, 0.2, 0.27)
    h = r * span(rng, 3.0, 4.0)
    wood = hue(rng, (*WOODS, WHITE, BLACK))
    cloth = against(rng, FABRICS, wood)
    if chance(rng, 0.3):
        metal = pick(rng, METALS)
        seat = cylinder(cloth, r, 0.13, n=8, top=0.9).move(z=h - 0.13)
        return fitted(rng, cylinder(metal, r * 1.1, 0.06, n=8, top=0.8), leg(metal, (0, 0), h - 0.1, 0.1), seat)
    seat = cylinder(cloth, r, 0.1, n=8, top=0.9)
    if chance(rng, 0.35):
        seat = box(cloth, 2 * r, 2 * r * span(rng, 0.75, 1.0), 0.1, top=0.9)
    splay, inset = span(rng, 0.0, 0.12), r * 0.68
    if chance(rng, 0.3):
        one = leg(wood, (inset + splay, 0), h - 0.05, 0.075, head=(inset * 0.8, 0))
        posts = join(*(one.turn("z", a) for a in (30, 150, 270)))
        return fitted(rng, posts, seat.move(z=h - 0.1))
    posts = legs(wood, 2 * inset + 0.07, 2 * inset + 0.07, h - 0.05, 0.075, splay=splay)
    at = span(rng, 0.25, 0.4)
    reach = inset + splay * (1 - at)
    rung = bar(wood, (-reach, reach), (-reach - 0.03, -reach + 0.03), (h * at, h * at + 0.06))
    rungs = rung.both("y") + rung.turn("z", 90).both("x")
    return fitted(rng, posts, rungs, seat.move(z=h - 0.1))


def table(rng: Rng) -> Mesh:
    """As high as a table is: a thin wide top on four legs, on one foot, or on two trestles."""
    w, d, h = span(rng, 1.0, 1.35), span(rng, 0.75, 0.95), span(rng, 0.75, 0.88)
    wood = hue(rng, PAINTED)
    top = wood if chance(rng) else pick(rng, (WHITE, ICE, *WOODS))
    style = pick(rng, ("legs", "legs", "round", "foot", "trestle"))
    if style in ("round", "foot"):
        plate = cylinder(top, 0.5, 0.06, n=10).scale(x=span(rng, 0.95, 1.15), y=0.95).move(z=h - 0.06)
        if style == "round":
            return fitted(rng, plate, legs(wood, 0.6, 0.6, h - 0.05, 0.08, splay=span(rng, 0, 0.06)))
        foot = box(wood, 0.55, 0.12, 0.08) + box(wood, 0.12, 0.55, 0.08)
        return fitted(rng, plate, foot, leg(wood, (0, 0), h - 0.05, 0.16))
    plate = box(top, w, d, 0.06).move(z=h - 0.06)
    if style == "trestle":
        x = w * 0.34
        post = leg(wood, (x, -d * 0.36), h - 0.05, 0.09, head=(x, -d * 0.1)).both("y")
        beam = block(wood, (-x, x), (-0.04, 0.04), (h * 0.35, h * 0.45))
        return fitted(rng, plate, post.both("x"), beam)
    apron = box(shade(wood, 0.8), w * 0.86, d * 0.86, 0.09).move(z=h - 0.14)
    return fitted(rng, plate, apron, legs(wood, w * 0.92, d * 0.92, h - 0.05, span(rng, 0.07, 0.12)))
