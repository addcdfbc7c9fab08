"""The command line: ``perfmodel <command> [--json]``.

A command is a function of a module of this folder. The docstring of the function is the help. Commands import what they
need when they run, so that ``perfmodel --help`` is quick.
"""

from perfmodel.cli.program import application, main

__all__ = ["application", "main"]
