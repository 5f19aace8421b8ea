"""A command begins again in huge pages once, where they are to be had, and as it was begun."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from daxlab import pages

CODE = """
import os, pathlib, sys
from daxlab import pages
pages.MODE = pathlib.Path(sys.argv[1])
print(os.getpid(), sys.argv[2:], os.environ.get(pages.TUNABLES), flush=True)
pages.in_huge_pages()
print("goes on")
"""


def begun(mode, **environment):
    told = {name: value for name, value in os.environ.items() if name != pages.TUNABLES} | environment
    command = [sys.executable, "-c", CODE, str(mode), "a word", "--two"]
    return subprocess.run(command, env=told, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()


def test_a_command_begins_again_once_with_the_same_words_and_in_the_same_process(tmp_path):
    mode = tmp_path / "enabled"
    mode.write_text("always [madvise] never\n")
    before, after, end = begun(mode)
    assert end == "goes on"
    assert before.endswith("None")
    assert after == before.removesuffix("None") + pages.HUGE


@pytest.mark.parametrize("modes", ["[always] madvise never", "always madvise [never]", None])
def test_it_does_not_where_asking_is_of_no_use(tmp_path, modes):
    mode = tmp_path / "enabled"
    if modes:
        mode.write_text(modes)
    assert len(begun(mode)) == 2


def test_what_the_user_told_the_c_library_stays(tmp_path):
    mode = tmp_path / "enabled"
    mode.write_text("always [madvise] never")
    told, end = begun(mode, **{pages.TUNABLES: "glibc.malloc.check=0"})
    assert told.endswith("glibc.malloc.check=0")
    assert end == "goes on"
