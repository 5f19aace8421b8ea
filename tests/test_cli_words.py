"""Help that reads like a manual, near words for wrong ones, and completion in a real shell."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import pytest

from daxlab import cli
from daxlab.cli_assets import ASSETS
from daxlab.cli_words import SHELLS, options

EVERY = {
    **{(name,): kind for name, kind in cli.COMMANDS.items()},
    **{
        (group, name): kind
        for group, kinds in (*cli.GROUPS.items(), ("assets", ASSETS))
        for name, kind in kinds.items()
    },
}
GROUPS = {("bench",), ("paper",)}


def said(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_the_help_of_each_command_has_an_example_that_parses_to_it(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    shown = said(capsys, *words, "--help")
    example = re.search(r"^ *Example: daxlab (.+)$", shown, re.MULTILINE)
    assert example, shown
    given = shlex.split(example[1])
    assert tuple(given[: len(words)]) == words
    wanted = EVERY[words] if words not in GROUPS else EVERY[tuple(given[:2])]
    assert type(cli._parse(given)) is wanted


@pytest.mark.parametrize("words", [words for words in EVERY if words not in GROUPS], ids=" ".join)
def test_the_options_that_are_known_are_those_that_the_help_shows(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    shown = re.findall(r"^(?:│ |  )(?:-h, )?(--[a-z-]+)", said(capsys, *words, "--help"), re.MULTILINE)
    assert sorted(shown) == sorted(options(EVERY[words]))


def test_daxlab_alone_is_its_help(capsys):
    shown = said(capsys)
    assert all(f"• {name} " in shown for name in cli.COMMANDS)
    assert "Example: daxlab train" in shown


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("trian", "did you mean train"),
        ("bench wrld", "did you mean world"),
        ("paper rn", "did you mean run"),
        ("assets import-shapnet", "did you mean import-shapenet"),
        ("train --sed 3", "did you mean --seed"),
        ("train --agnt=lstm", "did you mean --agent"),
        ("bench train --no-cld", "did you mean --no-cold"),
        ("assets import-shapenet DIR --agian", "did you mean --again"),
        ("--hlp", "did you mean --help"),
        ("completion bsh", "did you mean bash"),
        ("train --agent dcme", "did you mean dcem"),
        ("train --preset dsk", "did you mean desk"),
        ("train --set agent.memory.sise=3", "did you mean size"),
        ("pretrained rom", "did you mean room"),
        ("paper status architecture", "did you mean architectures"),
    ],
)
def test_a_wrong_word_is_one_sentence_with_the_near_one(given, near, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        cli.main(given.split())
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert near in said
    assert len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_an_option_may_be_spelt_with_an_underscore_and_an_equals_sign():
    assert cli._parse(["bench", "device", "--copy_bytes=64"]).copy_bytes == 64


TRY = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
$(complete -p daxlab | sed 's/.*-F \\([^ ]*\\) .*/\\1/') daxlab
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_words(capsys, tmp_path):
    cli.main(["completion", "bash"])
    script = tmp_path / "daxlab.bash"
    script.write_text(capsys.readouterr().out)

    def completed(*words: str) -> set[str]:
        done = subprocess.run(["bash", "-c", TRY, "try", script, *words], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert completed("daxlab", "tr") == {"train"}
    assert {"world", "train", "device"} <= completed("daxlab", "bench", "")
    assert completed("daxlab", "bench", "world", "--ro") == {"--rooms"}
    assert completed("daxlab", "train", "--se") == {"--seed", "--set"}
    assert completed("daxlab", "train", "--agent", "dc") == {"dcem", "dcem_match"}


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_a_script_that_knows_every_command(shell, capsys):
    cli.main(["completion", shell])
    script = capsys.readouterr().out
    assert all(name in script for name in cli.COMMANDS)
