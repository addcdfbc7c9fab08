"""From a Loopy translation unit to the program of its generated code. Only this folder uses Loopy's representation."""
