"""The command line: ``perfmodel <command> [--json]``.

A command is a function of a module of this folder; its docstring is its help. It parses, calls the library and prints.
What a command imports is loaded at its first use (:mod:`perfmodel.lazy`), so that ``perfmodel --help`` stays quick.
"""

from perfmodel.cli.program import application, main

__all__ = ["application", "main"]
