"""The shape of an expression's syntax tree: chains of sums, and what is too large to be worked with."""

from __future__ import annotations

import ast

MOST_CHARACTERS = 20_000
MOST_LEVELS = 100  # of nesting: the walkers of trees recurse
MOST_NODES = 1_200  # numbers, names and operations: derivatives take the square of it


MOST_WITH_PARTS = 12_000  # of these, with each part and each sum written out where it stands


def unwieldy(body: ast.expr) -> str:
    """Return why an expression is too deep or too large, or an empty text; a chain of sums is one level.

    Examples
    --------
    >>> unwieldy(ast.parse("a + b + c*d", mode="eval").body)
    ''
    """
    waiting, nodes = [(body, 1)], 0
    while waiting:
        node, depth = waiting.pop()
        if depth > MOST_LEVELS:
            return f"this expression nests more than {MOST_LEVELS} levels deep"
        nodes += 1
        deeper = max(1, len(node.args) - 1) if isinstance(node, ast.Call) else 1  # max takes two at a time
        waiting += [(child, depth + deeper) for child in _below(node)]
    if nodes > MOST_NODES:
        return f"this expression has {nodes} numbers, names and operations, and {MOST_NODES} are read at most"
    return ""


def chain(node: ast.expr) -> tuple[ast.expr, list[ast.BinOp]]:
    """Return the first operand of a chain of sums and differences, and the nodes that add the others to it."""
    links: list[ast.BinOp] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        links.append(node)
        node = node.left
    return node, links[::-1]


def _below(node: ast.expr) -> list[ast.expr]:
    """Return the expressions directly below a node; a chain of sums and differences is one node."""
    first, links = chain(node)
    if links:
        return [first, *(link.right for link in links)]
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
