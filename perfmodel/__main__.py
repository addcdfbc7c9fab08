"""``python -m perfmodel``: the command line."""

from perfmodel.cli import main

main()
