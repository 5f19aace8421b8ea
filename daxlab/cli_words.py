"""Words on the command line: near ones for those that are wrong, and scripts that let a shell complete them."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from typing import Annotated, Any, Literal

import tyro

from daxlab.errors import unknown

SHELLS = ("bash", "zsh", "fish")
HELP = ("-h", "--help")

Commands = Mapping[str, Callable[..., Any]]


def check_words(commands: Commands, prog: str, arguments: Sequence[str]) -> None:
    """Refuse a command or an option that does not exist, naming the near ones; all else is tyro's to check."""
    if not arguments or arguments[0] in HELP:
        return
    word, *rest = arguments
    if word not in commands:
        raise unknown("option" if word.startswith("-") else f"{prog} command", word, (*commands, *HELP[1:]))
    check_options(commands[word], f"{prog} {word}", rest)


def check_options(command: Callable[..., Any], prog: str, arguments: Sequence[str]) -> None:
    """The same of one command's options."""
    known = options(command)
    for argument in arguments:
        name = argument.partition("=")[0]
        if name.startswith("--") and name.replace("_", "-") not in known:
            raise unknown(f"option of {prog}", name, known)


def options(command: Callable[..., Any]) -> tuple[str, ...]:
    """The options of a command: its fields, as tyro spells them."""
    hints = typing.get_type_hints(command, include_extras=True)
    found = []
    for one in fields(command):  # type: ignore[arg-type]
        if _positional(hints[one.name]):
            continue
        marks = getattr(hints[one.name], "__metadata__", ())
        named = [mark.name for mark in marks if getattr(mark, "name", None)]
        word = (named[0] if named else one.name).replace("_", "-")
        found.append(f"--no-{word}" if one.default is True else f"--{word}")
    return (*found, *HELP[1:])


@dataclass(frozen=True)
class Completion:
    """Print a script that lets your shell complete commands, options, agents and presets with the Tab key.

    For bash put this in ~/.bashrc: eval "$(daxlab completion bash)". For zsh or fish write what is printed to a file
    _daxlab in a folder of $fpath, or to ~/.config/fish/completions/daxlab.fish.

    Example: daxlab completion bash
    """

    shell: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SHELL")]
    """bash, zsh or fish."""

    def run(self) -> None:
        """Print it."""
        if self.shell not in SHELLS:
            raise unknown("shell", self.shell, SHELLS)
        from daxlab.cli import COMMANDS, CONFIG, GROUPS

        print(script(self.shell, COMMANDS, GROUPS, CONFIG))


def script(shell: str, commands: Commands, groups: Mapping[str, Commands], config: tuple[Any, ...]) -> str:
    """What the shell is to run, of the commands and of those that are groups of others."""
    import contextlib
    import io

    choices = _choices()
    tree = {name: _completed(kind, choices) for name, kind in commands.items()}
    for name, members in groups.items():
        tree[name] = _group(commands[name], {word: _completed(kind, choices) for word, kind in members.items()})
    config = (*config, tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        asked = ["--tyro-print-completion", shell]
        tyro.extras.subcommand_cli_from_dict(tree, prog="daxlab", args=asked, config=config)
    return out.getvalue()


def _choices() -> dict[str, tuple[str, ...]]:
    """Options whose words are known."""
    from daxlab.agents.config import CORES
    from daxlab.learning.config import PRESETS
    from daxlab.levels.registry import levels

    return {"level": tuple(levels()), "agent": CORES, "preset": tuple(PRESETS)}


def _completed(kind: Callable[..., Any], choices: Mapping[str, tuple[str, ...]]) -> Callable[..., Any]:
    """The command with the words that its options may take; tyro completes no other."""
    hints = typing.get_type_hints(kind, include_extras=True)
    parts: list[tuple[str, Any, Any]] = []
    for one in fields(kind):  # type: ignore[arg-type]
        hint, default = hints[one.name], one.default
        if one.name in choices and not _positional(hint):
            hint, default = Literal[choices[one.name]], choices[one.name][0]
        parts.append((one.name, hint, field() if default is MISSING else field(default=default)))
    made = make_dataclass(kind.__name__, parts, frozen=True)
    made.__doc__ = kind.__doc__
    return made


def _positional(hint: Any) -> bool:
    return tyro.conf.Positional in getattr(hint, "__metadata__", ())


def _group(kind: Callable[..., Any], members: Commands) -> Callable[..., Any]:
    """A command whose first word is another command."""
    each = tuple(Annotated[made, tyro.conf.subcommand(name)] for name, made in members.items())
    made = make_dataclass(kind.__name__, [("command", typing.Union[each])], frozen=True)  # noqa: UP007
    made.__doc__ = kind.__doc__
    return made
