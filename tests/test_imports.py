"""Imports point one way, and optional packages are imported only where they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import daxlab

ROOT = Path(daxlab.__file__).parent

CHAINS = (("assets", "world", "render", "levels", "adapters"), ("agents", "pretrained", "learning", "experiments"))
"""In each chain a folder may import those before it."""

OPTIONAL = {"gymnasium", "dm_env", "dm_env_rpc", "trimesh", "ray", "imageio", "rlax", "torch", "stable_baselines3"}
OPTIONAL |= {"grpc", "vizdoom", "miniworld", "mujoco", "tensorboard"}


def imports(path: Path, everywhere: bool) -> set[str]:
    """Modules that a file imports: at its top level, or anywhere in it."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else iter(tree.body)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def folders_used(folder: str) -> set[str]:
    used = set()
    for path in (ROOT / folder).rglob("*.py"):
        for name in imports(path, everywhere=True):
            parts = name.split(".")
            if parts[0] == "daxlab" and len(parts) > 1 and (ROOT / parts[1]).is_dir():
                used.add(parts[1])
    return used - {folder}


def allowed(folder: str) -> set[str]:
    first, second = CHAINS
    if folder in first:
        return set(first[: first.index(folder)])
    return {*first[:-1], *second[: second.index(folder)]}


@pytest.mark.parametrize("folder", [name for chain in CHAINS for name in chain])
def test_imports_point_one_way(folder):
    assert folders_used(folder) <= allowed(folder)


def test_agents_do_not_know_the_world():
    assert not folders_used("agents") & {"world", "render", "levels", "adapters"}


def test_the_check_sees_imports():
    assert "world" in folders_used("levels")
    assert "render" in folders_used("levels")


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_optional_packages_are_not_imported_at_the_top(path):
    if path.parent.name == "adapters" and path.name != "__init__.py":
        return  # an adapter is the use
    assert not {name.split(".")[0] for name in imports(path, everywhere=False)} & OPTIONAL


def test_importing_daxlab_starts_no_device():
    code = "import daxlab.cli; from jax._src import xla_bridge as b; assert not b.backends_are_initialized()"
    subprocess.run([sys.executable, "-c", code], check=True)
