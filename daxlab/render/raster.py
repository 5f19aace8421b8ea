"""The Numba kernel of the CPU backend: the arithmetic of `setup`, culled and written for one core's vector units.

Three loops cost all the time and are shaped for the vectoriser: faces side by side (`_faces`), the room's pixels along
a row (`_room_row`), and packing pixels into bytes (`_write`). Constant strides let it prove that rows do not overlap;
float32 everywhere keeps sixteen bytes from becoming eight. All arrays are pointers: a person waits while Numba compiles
this at the first start, and arrays, slices and Python's own min and max took it twice as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daxlab.assets.mesh import MAX_FACES
from daxlab.render.intrinsics import exact, fast, floats, free, ints, larger, malloc, octets, select, smaller, words

F = MAX_FACES
ROWS = 15
LANES = 8
"""Numbers in a vector; the buffers have this much room behind their last pixel."""
f32 = np.float32
ZERO, ONE, HALF = f32(0.0), f32(1.0), f32(0.5)
SLACK, TINY = f32(1e-2), f32(1e-3)


@exact
def _clip(v: Any, low: Any, high: Any) -> Any:
    return smaller(larger(v, low), high)


@fast
def _byte(v: Any) -> Any:
    return np.int32(f32(255.0) * _clip(v, ZERO, ONE) + HALF)


@fast
def _wave(v: Any) -> Any:
    return _clip(f32(9.0) * (abs(v - np.floor(v) - HALF) * f32(4.0) - ONE), -ONE, ONE)


@fast
def _to_camera(m: Any, centre: Any, x: Any, y: Any, z: Any) -> Any:
    return (
        m[0] * x + m[1] * y + m[2] * z + centre[0],
        m[3] * x + m[4] * y + m[5] * z + centre[1],
        m[6] * x + m[7] * y + m[8] * z + centre[2],
    )


@exact
def _sphere_box(cx: Any, cy: Any, cz: Any, r: Any, scale: Any, near_plane: Any, width: int, height: int) -> Any:
    """See `setup.sphere_box`; whole numbers, last < first when nothing can be seen."""
    s, x0, y0 = scale
    if cz + r <= near_plane:
        return 0, -1, 0, -1
    if cz - r <= near_plane:
        return 0, width - 1, 0, height - 1
    near, far = ONE / (cz - r), ONE / (cz + r)
    left, right = smaller((cx - r) * near, (cx - r) * far), larger((cx + r) * near, (cx + r) * far)
    bottom, top = smaller((cy - r) * near, (cy - r) * far), larger((cy + r) * near, (cy + r) * far)
    w, h = f32(width), f32(height)
    return (
        larger(np.intp(_clip(np.floor((left - x0) / s), ZERO, w)), 0),
        smaller(np.intp(_clip(np.ceil((right - x0) / s), -ONE, w - ONE)), width - 1),
        larger(np.intp(_clip(np.floor((y0 - top) / s), ZERO, h)), 0),
        smaller(np.intp(_clip(np.ceil((y0 - bottom) / s), -ONE, h - ONE)), height - 1),
    )


@fast
def _faces(rows: Any, count: int, m: Any, law: Any, scale: Any, box: Any, out: Any, colour: Any) -> None:
    """`setup.face_rows` for one thing. ``m``: camera from mesh 0…8, centre 9…11, eye 12…14, lights 15…20."""
    s, x0, y0 = scale
    inverse_s = ONE / s
    near_plane, facing_least, ambient, key, fill = law[1], law[2], law[3], law[4], law[5]
    m0, m1, m2, m3, m4, m5, m6, m7, m8 = camera = (m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8])
    centre, o0, o1, o2 = (m[9], m[10], m[11]), m[12], m[13], m[14]
    k0, k1, k2, l0, l1, l2 = m[15], m[16], m[17], m[18], m[19], m[20]
    u_first, u_last, v_first, v_last = f32(box[0]), f32(box[1]), f32(box[2]), f32(box[3])
    for f in range(count):
        px, py, pz = rows[f], rows[f + F], rows[f + 2 * F]
        qx, qy, qz = rows[f + 3 * F], rows[f + 4 * F], rows[f + 5 * F]
        rx, ry, rz = rows[f + 6 * F], rows[f + 7 * F], rows[f + 8 * F]
        nx, ny, nz = rows[f + 9 * F], rows[f + 10 * F], rows[f + 11 * F]
        facing = nx * (o0 - px) + ny * (o1 - py) + nz * (o2 - pz)
        ax, ay, az = _to_camera(camera, centre, px, py, pz)
        bx, by, bz = _to_camera(camera, centre, qx, qy, qz)
        cx, cy, cz = _to_camera(camera, centre, rx, ry, rz)
        out[f], out[f + F], out[f + 2 * F] = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
        out[f + 3 * F], out[f + 4 * F], out[f + 5 * F] = cy * az - cz * ay, cz * ax - cx * az, cx * ay - cy * ax
        out[f + 6 * F], out[f + 7 * F], out[f + 8 * F] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        drawn = facing > facing_least
        w = -ONE / select(drawn, facing, ONE)
        out[f + 9 * F] = (m0 * nx + m1 * ny + m2 * nz) * w
        out[f + 10 * F] = (m3 * nx + m4 * ny + m5 * nz) * w
        out[f + 11 * F] = (m6 * nx + m7 * ny + m8 * nz) * w
        safe = smaller(smaller(az, bz), cz) > near_plane
        ia, ib, ic = ONE / larger(az, near_plane), ONE / larger(bz, near_plane), ONE / larger(cz, near_plane)
        ua, ub, uc = ax * ia, bx * ib, cx * ic
        va, vb, vc = ay * ia, by * ib, cy * ic
        u0 = np.ceil((smaller(smaller(ua, ub), uc) - x0) * inverse_s - SLACK)
        u1 = np.floor((larger(larger(ua, ub), uc) - x0) * inverse_s + SLACK)
        v0 = np.ceil((y0 - larger(larger(va, vb), vc)) * inverse_s - SLACK)
        v1 = np.floor((y0 - smaller(smaller(va, vb), vc)) * inverse_s + SLACK)
        out[f + 12 * F] = select(safe, larger(u0, u_first), u_first)
        u1 = select(safe, smaller(u1, u_last), u_last)
        out[f + 13 * F] = select(drawn, u1, -ONE)
        out[f + 14 * F] = select(safe, larger(v0, v_first), v_first)
        out[f + 15 * F] = select(safe, smaller(v1, v_last), v_last)
        light = ambient + key * larger(nx * k0 + ny * k1 + nz * k2, ZERO)
        light += fill * larger(nx * l0 + ny * l1 + nz * l2, ZERO)
        r, g, b = rows[f + 12 * F], rows[f + 13 * F], rows[f + 14 * F]
        colour[f] = _byte(r * light) | (_byte(g * light) << np.int32(8)) | (_byte(b * light) << np.int32(16))


@fast
def _fill(
    face: Any, colour: Any, count: int, xs: Any, y0: Any, s: Any, most: Any, width: int, height: int, depth: Any,
    packed: Any,
) -> None:  # fmt: skip
    """Draw the faces of one thing into the depth and colour buffers, each within its box."""
    for f in range(count):
        # The limits hold already unless a number is not finite; then they keep the pixels inside the buffers.
        u0, u1 = larger(np.intp(face[f + 12 * F]), 0), smaller(np.intp(face[f + 13 * F]), width - 1)
        v0, v1 = larger(np.intp(face[f + 14 * F]), 0), smaller(np.intp(face[f + 15 * F]), height - 1)
        if u1 < u0 or v1 < v0:
            continue
        ax, ay, az = face[f], face[f + F], face[f + 2 * F]
        bx, by, bz = face[f + 3 * F], face[f + 4 * F], face[f + 5 * F]
        cx, cy, cz = face[f + 6 * F], face[f + 7 * F], face[f + 8 * F]
        wx, wy, wz = face[f + 9 * F], face[f + 10 * F], face[f + 11 * F]
        # Whole vectors, masked: a face is few pixels wide, and the pixels left over would be done one by one.
        tint, x_last, span = colour[f], xs[u1], ((u1 - u0) // LANES + 1) * LANES
        for v in range(v0, v1 + 1):
            y = y0 - s * f32(v)
            a, b, c, d = ay * y + az, by * y + bz, cy * y + cz, wy * y + wz
            row = v * width + u0
            for u in range(span):
                x, old = xs[u0 + u], depth[row + u]
                w = wx * x + d
                inside = smaller(smaller(ax * x + a, bx * x + b), cx * x + c)
                wins = (inside >= ZERO) & (w > old) & (w < most) & (x <= x_last)
                depth[row + u] = select(wins, w, old)
                packed[row + u] = select(wins, tint, packed[row + u])


@fast
def _shade_row(dark: Any, j: int, eye: Any, d: Any, xs: Any, u0: int, u1: int, shade: Any) -> None:
    """`setup.shadow_of` one thing along a row, at the points where its rays meet the floor's plane."""
    middle_x, middle_y, inverse, strength = dark[j], dark[j + 1], dark[j + 2], dark[j + 3]
    ex, ey, ez = eye
    rx, ry, rz, dx, dy, dz = d
    for u in range(u0, u1 + 1):
        x = xs[u]
        t = -ez / smaller(x * rz + dz, f32(-1e-6))
        ax, ay = ex + t * (x * rx + dx) - middle_x, ey + t * (x * ry + dy) - middle_y
        shade[u] *= ONE - strength * larger(ONE - (ax * ax + ay * ay) * inverse, ZERO)


@fast
def _room_row(p: Any, d: Any, xs: Any, shade: Any, depth: Any, packed: Any, row: int, width: int) -> None:
    """`setup.background` along one row, where no face was drawn. ``p``: eye, inverse gaps, colours; ``d``: the ray."""
    ex, ey, ez = p[0], p[1], p[2]
    g0, g1, g2, g3, g4, g5 = p[3], p[4], p[5], p[6], p[7], p[8]
    r0, r1, r2, r3, r4, r5 = p[9], p[12], p[15], p[18], p[21], p[24]
    s0, s1, s2, s3, s4, s5 = p[10], p[13], p[16], p[19], p[22], p[25]
    b0, b1, b2, b3, b4, b5 = p[11], p[14], p[17], p[20], p[23], p[26]
    kx, ky, kz, lx, ly, lz = d
    for u in range(width):
        x = xs[u]
        dx, dy, dz = x * kx + lx, x * ky + ly, x * kz + lz
        wx, wy, wz = larger(dx * g0, -dx * g1), larger(dy * g2, -dy * g3), larger(dz * g4, -dz * g5)
        side = larger(wx, wy)
        t = ONE / larger(side, wz)
        px, py, pz = ex + t * dx, ey + t * dy, ez + t * dz
        level, on_x, up, east, north = wz >= side, wx >= wy, dz > ZERO, dx > ZERO, dy > ZERO
        along = _wave(select(wx >= larger(wy, wz), py, px))
        tiles = ONE + f32(0.13) * _clip(f32(1.3) - f32(0.3) * t, ZERO, ONE) * along * _wave(py)
        panels = ONE + f32(0.05) * _clip(f32(1.3) - f32(0.15) * t, ZERO, ONE) * along
        panels *= f32(0.80) + f32(0.20) * _clip((pz - f32(0.60)) * f32(25.0), ZERO, ONE)
        panels *= ONE - f32(0.18) * _clip(f32(1.5) - abs(pz - f32(0.64)) * f32(25.0), ZERO, ONE)
        flat = select(up, ONE, tiles * shade[u])
        light = select(level, flat, panels) * larger(ONE - f32(0.035) * t, f32(0.6))
        r = select(on_x, select(east, r0, r1), select(north, r2, r3))
        g = select(on_x, select(east, s0, s1), select(north, s2, s3))
        b = select(on_x, select(east, b0, b1), select(north, b2, b3))
        # No clipping: the palettes are light enough to stay below 1.
        r = np.int32(light * select(level, select(up, r4, r5), r) + HALF)
        g = np.int32(light * select(level, select(up, s4, s5), g) + HALF)
        b = np.int32(light * select(level, select(up, b4, b5), b) + HALF)
        colour = r | (g << np.int32(8)) | (b << np.int32(16))
        packed[row + u] = select(depth[row + u] > ZERO, packed[row + u], colour)


@exact
def _write(packed: Any, address: int, pixels: int) -> None:
    """Packed pixels to bytes: four pixels are three whole numbers where the picture's size allows."""
    if pixels % 4 == 0:
        whole = ints(address)
        for i in range(pixels // 4):
            p0, p1, p2, p3 = packed[4 * i], packed[4 * i + 1], packed[4 * i + 2], packed[4 * i + 3]
            whole[3 * i] = p0 | (p1 << np.int32(24))
            whole[3 * i + 1] = (p1 >> np.int32(8)) | (p2 << np.int32(16))
            whole[3 * i + 2] = (p2 >> np.int32(16)) | (p3 << np.int32(8))
        return
    out = octets(address)
    for i in range(pixels):
        p = packed[i]
        out[3 * i], out[3 * i + 1], out[3 * i + 2] = p & 255, (p >> 8) & 255, (p >> 16) & 255


# Words of a job: sizes, then the addresses of the arrays in the order of `draw_job` (inputs, then the output).
ROOMS, THINGS, WIDTH, HEIGHT, MESHES, PALETTES, POINTERS = range(7)
INPUTS = 12
JOB = POINTERS + INPUTS + 1


def draw_job(first: int, last: int, address: int) -> None:
    """Draw rooms ``first`` to ``last - 1`` of the job at an address: the one function that is compiled to be called."""
    job = words(address)
    n, width, height, meshes, palettes = job[THINGS], job[WIDTH], job[HEIGHT], job[MESHES], job[PALETTES]
    at = words(address + 8 * POINTERS)
    eye, look, mesh, position, rotation = floats(at[0]), floats(at[1]), ints(at[2]), floats(at[3]), floats(at[4])
    room, decor, rows, size, faces = floats(at[5]), ints(at[6]), at[7], floats(at[8]), ints(at[9])
    colours, law, out = floats(at[10]), floats(at[11]), at[12]
    s = f32(2.0) * law[0] / f32(height)
    x0, y0 = HALF * s - HALF * s * f32(width), law[0] - HALF * s
    scale, near = (s, x0, y0), law[1]
    pixels = width * height
    room_for, wide_row = pixels + LANES, width + LANES
    block = malloc(4 * (2 * room_for + 2 * wide_row + 17 * F + 48 + 8 * n))
    depth, packed = floats(block), ints(block + 4 * room_for)
    cut = block + 8 * room_for
    xs, shade = floats(cut), floats(cut + 4 * wide_row)
    cut += 8 * wide_row
    face, colour = floats(cut), ints(cut + 64 * F)
    cut += 68 * F
    m, p, dark, box = floats(cut), floats(cut + 84), floats(cut + 192), ints(cut + 192 + 16 * n)
    for u in range(wide_row):
        xs[u], shade[u] = s * f32(u) + x0, ONE
    for i in range(first, last):
        ex, ey, ez = eye[3 * i], eye[3 * i + 1], eye[3 * i + 2]
        rx, ry, rz = look[9 * i], look[9 * i + 1], look[9 * i + 2]
        ux, uy, uz = look[9 * i + 3], look[9 * i + 4], look[9 * i + 5]
        fx, fy, fz = look[9 * i + 6], look[9 * i + 7], look[9 * i + 8]
        for u in range(pixels):
            depth[u] = ZERO
        for j in range(n):
            k = smaller(np.intp(mesh[i * n + j]), meshes - 1)
            box[4 * j], box[4 * j + 1] = 0, -1
            if k < 0:
                continue
            q, h = 3 * (i * n + j), 9 * (i * n + j)
            wx, wy, wz = position[q] - ex, position[q + 1] - ey, position[q + 2] - ez
            cx, cy, cz = rx * wx + ry * wy + rz * wz, ux * wx + uy * wy + uz * wz, fx * wx + fy * wy + fz * wz
            bound, radius, half = size[3 * k], size[3 * k + 1], size[3 * k + 2]
            whole = _sphere_box(cx, cy, cz, bound, scale, near, width, height)
            if whole[0] <= whole[1] and whole[2] <= whole[3]:
                for c in range(3):
                    a0, a1, a2 = rotation[h + c], rotation[h + 3 + c], rotation[h + 6 + c]
                    m[c], m[3 + c] = rx * a0 + ry * a1 + rz * a2, ux * a0 + uy * a1 + uz * a2
                    m[6 + c], m[12 + c] = fx * a0 + fy * a1 + fz * a2, -(wx * a0 + wy * a1 + wz * a2)
                    m[15 + c] = law[7] * a0 + law[8] * a1 + law[9] * a2
                    m[18 + c] = law[10] * a0 + law[11] * a1 + law[12] * a2
                m[9], m[10], m[11] = cx, cy, cz
                _faces(floats(rows + 4 * k * ROWS * F), faces[k], m, law, scale, whole, face, colour)
                _fill(face, colour, faces[k], xs, y0, s, ONE / near, width, height, depth, packed)
            strength = law[6] * larger(ONE - larger(position[q + 2] - half, ZERO), ZERO)
            if strength > ZERO:
                wide = f32(1.25) * radius + f32(0.02)
                dark[4 * j], dark[4 * j + 1] = position[q], position[q + 1]
                dark[4 * j + 2], dark[4 * j + 3] = ONE / (wide * wide), strength
                cx, cy, cz = rx * wx + ry * wy - rz * ez, ux * wx + uy * wy - uz * ez, fx * wx + fy * wy - fz * ez
                around = _sphere_box(cx, cy, cz, wide, scale, near, width, height)
                box[4 * j], box[4 * j + 1], box[4 * j + 2], box[4 * j + 3] = around
        gx, gy, gz = room[3 * i], room[3 * i + 1], room[3 * i + 2]
        p[0], p[1], p[2] = ex, ey, ez
        p[3], p[4] = ONE / larger(gx - ex, TINY), ONE / larger(gx + ex, TINY)
        p[5], p[6] = ONE / larger(gy - ey, TINY), ONE / larger(gy + ey, TINY)
        p[7], p[8] = ONE / larger(gz - ez, TINY), ONE / larger(ez, TINY)
        palette = (decor[i] % palettes) * 18
        for c in range(18):
            p[9 + c] = f32(255.0) * colours[palette + c]
        for v in range(height):
            y = y0 - s * f32(v)
            d = (rx, ry, rz, y * ux + fx, y * uy + fy, y * uz + fz)
            for j in range(n):
                if box[4 * j] <= box[4 * j + 1] and box[4 * j + 2] <= v and v <= box[4 * j + 3]:
                    _shade_row(dark, 4 * j, (ex, ey, ez), d, xs, box[4 * j], box[4 * j + 1], shade)
            _room_row(p, d, xs, shade, depth, packed, v * width, width)
            for j in range(n):
                if box[4 * j] <= box[4 * j + 1] and box[4 * j + 2] <= v and v <= box[4 * j + 3]:
                    for u in range(box[4 * j], box[4 * j + 1] + 1):
                        shade[u] = ONE
        _write(packed, out + 3 * i * pixels, pixels)
    free(block)
