"""Commands are made of functions, groups of options become options, and the help has the commands by subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.cli.output import SHARED, CommandSettings, settings, using
from perfmodel.cli.program import COMMANDS, SUBJECTS, Command, CommandProgram, flattened


@dataclass(frozen=True)
class Place:
    """A group of options."""

    x: Annotated[int, typer.Argument()]
    y: Annotated[int, typer.Option("--why")] = 5


@pytest.fixture
def asked():
    """A program of one command, and what it was asked."""
    found = []

    def command(place: Place, loud: bool = False) -> None:
        """Do something."""
        found.append((place, loud, settings()))

    def options(context: typer.Context, shared: CommandSettings) -> None:
        context.with_resource(using(shared))

    app = typer.Typer(cls=CommandProgram, rich_markup_mode=None)
    app.callback()(flattened(options))
    app.command("predict", cls=Command)(flattened(command))

    def run(*arguments: str):
        result = CliRunner().invoke(app, ["predict", *arguments])
        return result, found

    return run


def test_a_group_is_one_value(asked):
    _, found = asked("3", "--why", "4")
    _, found = asked("--loud", "1")
    assert [(Place(3, 4), False, CommandSettings()), (Place(1, 5), True, CommandSettings())] == found


def test_every_command_has_a_subject():
    group = typer.main.get_group(application())
    assert list(COMMANDS) == list(group.commands)
    help_of_all = CliRunner().invoke(application(), ["--help"]).stdout
    assert sorted(SUBJECTS, key=help_of_all.index) == list(SUBJECTS)
    assert all(f"\n{subject}:\n" in help_of_all for subject in SUBJECTS)


def test_options_are_few():
    """At most 100, six for recordings, nine for versions and five for recipes, without those of every command."""

    def commands(group):
        for command in group.commands.values():
            yield from commands(command) if hasattr(command, "commands") else [command]

    parameters = [p for one in commands(typer.main.get_group(application())) for p in one.params]
    assert len([p for p in parameters if p.param_type_name == "option" and p.name not in (*SHARED, "help")]) <= 120
