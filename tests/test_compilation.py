"""The compilation cache: where it is, and that nothing fails where it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from daxlab import compilation


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch):
    """As in a process that nobody told of a cache; the tests' own is back afterwards."""
    before = [getattr(jax.config, name) for name in (compilation.FOLDER, compilation.FROM)]
    compilation._use(None, 1.0)
    monkeypatch.delenv("DAXLAB_CACHE", raising=False)
    yield
    compilation._use(*before)


def test_programs_are_kept_where_the_user_says(tmp_path, monkeypatch):
    monkeypatch.setenv("DAXLAB_CACHE", str(tmp_path / "mine"))
    assert compilation.enable_cache() == tmp_path / "mine" / "jax"
    jax.jit(lambda x: jnp.sin(x) * 7).lower(jnp.ones(5)).compile()
    assert list((tmp_path / "mine" / "jax").glob("*-cache"))


@pytest.mark.parametrize("xdg", ["", "cache"])
def test_else_in_the_users_cache_folder(tmp_path, monkeypatch, xdg):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", xdg and str(tmp_path / xdg))
    assert compilation.enable_cache() == tmp_path / (xdg or ".cache") / "daxlab" / "jax"


def test_a_cache_that_jax_was_told_of_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("DAXLAB_CACHE", str(tmp_path / "mine"))
    compilation._use(str(tmp_path / "given"), 3.0)
    assert compilation.enable_cache() == tmp_path / "given"
    assert getattr(jax.config, compilation.FROM) == 3.0
    assert not (tmp_path / "mine").exists()


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DAXLAB_CACHE", str(tmp_path / "file" / "below"))
    assert compilation.enable_cache() is None
    monkeypatch.setenv("DAXLAB_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert compilation.enable_cache() is None
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    monkeypatch.delenv("DAXLAB_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert compilation.enable_cache() is None
    assert getattr(jax.config, compilation.FOLDER) is None


def test_the_command_line_keeps_programs(tmp_path):
    told = {name: value for name, value in os.environ.items() if not name.startswith("JAX_COMPILATION")}
    command = [sys.executable, "-m", "daxlab.cli", "bench", "device"]
    small = ["--copy-bytes", "64", "--matrix", "4", "--seconds", "0.001", "--repeats", "1"]
    subprocess.run([*command, *small], check=True, env=told | {"DAXLAB_CACHE": str(tmp_path)}, capture_output=True)
    assert list((tmp_path / "jax").glob("*-cache"))
