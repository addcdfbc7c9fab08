"""From a Loopy translation unit to the program of its generated code; only this folder uses Loopy's representation."""
