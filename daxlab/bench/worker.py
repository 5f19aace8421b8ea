"""One process of a comparison: hold to one core, warm up, say ``ready``, wait for ``go``, print the rates.

python -m daxlab.bench.worker NAME ARGUMENTS_JSON SECONDS REPEATS CORE        (CORE any: on whichever is free)
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[], int]
"""Plays a while and returns how many steps that was."""


def daxlab(level: str, rooms: int, width: int, height: int) -> Step:
    """Our own rooms."""
    import jax

    from daxlab.bench.world import CHUNK, prepare
    from daxlab.levels import registry
    from daxlab.levels.mixture import make_rooms

    play, carry, _ = prepare(make_rooms(registry.weights(level), rooms, width=width, height=height), True)
    state = [carry]

    def step() -> int:
        state[0] = jax.block_until_ready(play(state[0]))
        return CHUNK * rooms

    return step


def vizdoom(width: int, height: int) -> Step:
    """my_way_home at its smallest usual size; the size asked for is not one that it offers."""
    import vizdoom as vzd

    game = vzd.DoomGame()
    game.load_config(os.path.join(vzd.scenarios_path, "my_way_home.cfg"))
    game.set_screen_resolution(vzd.ScreenResolution.RES_160X120)
    game.set_screen_format(vzd.ScreenFormat.RGB24)
    game.set_window_visible(False)
    game.set_mode(vzd.Mode.PLAYER)
    game.init()
    actions = np.eye(game.get_available_buttons_size(), dtype=int).tolist()
    random = np.random.default_rng(0)

    def step() -> int:
        for _ in range(100):
            if game.is_episode_finished():
                game.new_episode()
            game.make_action(actions[random.integers(len(actions))])
            state = game.get_state()
            if state is not None:
                state.screen_buffer.sum()
        return 100

    return step


def miniworld(width: int, height: int) -> Step:
    """PickupObjects, drawn without a window."""
    import pyglet

    pyglet.options["headless"] = True
    import gymnasium
    import miniworld  # noqa: F401  (registers its environments)

    env: Any = gymnasium.make("MiniWorld-PickupObjects-v0", obs_width=width, obs_height=height)
    env.reset(seed=0)

    def step() -> int:
        for _ in range(20):
            picture, _, terminated, truncated, _ = env.step(env.action_space.sample())
            picture.sum()
            if terminated or truncated:
                env.reset()
        return 20

    return step


def mujoco(width: int, height: int) -> Step:
    """Six free bodies on a floor, 15 physics steps a picture, no shadows."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco as mj

    kinds = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "box")
    bodies = "".join(
        f'<body pos="{i - 2.5} 2 1"><freejoint/>'
        f'<geom type="{kind}" size=".2 .2 .2" rgba="{i / 6} .5 {1 - i / 6} 1"/></body>'
        for i, kind in enumerate(kinds)
    )
    model = mj.MjModel.from_xml_string(
        f'<mujoco><visual><quality offsamples="0"/><global offwidth="{width}" offheight="{height}"/></visual>'
        f"<worldbody>"
        f'<light pos="0 0 3"/><camera name="eye" pos="0 -2 1" xyaxes="1 0 0 0 .2 1"/>'
        f'<geom type="plane" size="5 5 .1"/>{bodies}</worldbody></mujoco>'
    )
    data = mj.MjData(model)
    renderer = mj.Renderer(model, height, width)
    renderer.scene.flags[mj.mjtRndFlag.mjRND_SHADOW] = False

    def step() -> int:
        for _ in range(20):
            mj.mj_step(model, data, nstep=15)
            renderer.update_scene(data, "eye")
            renderer.render().sum()
        return 20

    return step


def served(port: int, level: str, width: int, height: int) -> Step:
    """A client of `daxlab serve`, as those of the release are: all nine actions in, picture and text out."""
    from daxlab.bench.serve import connect, join

    env, _ = join(connect(port)[0], level, width, height, seed=os.getpid())
    random = np.random.default_rng(0)
    names = list(env.action_spec())
    env.reset()

    def step() -> int:
        for values in random.uniform(-1.0, 1.0, (20, len(names))).tolist():
            # A held object is lifted sooner or later, which ends the episode and would time resets as well.
            env.step(dict(zip(names, values, strict=True)) | {"HAND_GRIP": 0.0})
        return 20

    return step


WORLDS: dict[str, Callable[..., Step]] = {
    "daxlab": daxlab,
    "served": served,
    "vizdoom": vizdoom,
    "miniworld": miniworld,
    "mujoco": mujoco,
}


def main(name: str, arguments: str, seconds: str, repeats: str, core: str) -> None:
    """Time one environment."""
    if core != "any":
        os.sched_setaffinity(0, {int(core)})
    # Peers chat on standard output; ours is for the two lines that the parent reads.
    with contextlib.redirect_stdout(sys.stderr):
        step = WORLDS[name](**json.loads(arguments))
        step()
    print("ready", flush=True)
    sys.stdin.readline()
    rates = []
    for _ in range(int(repeats)):
        done, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < float(seconds):
            done += step()
        rates.append(done / (time.perf_counter() - begin))
    print(json.dumps(rates), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
