"""Ways to damage a file: bits, cuts, lines, and the values of JSON and YAML documents."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

Place = tuple[Any, Any]  # a list or an object, and the index or key of a value in it

#: Numbers and other values that readers misjudge.
ODD: tuple[Any, ...] = (
    0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, 10**400, 0.0, -0.0, 0.5, -2.5, 1e-320, 1e308, float("nan"),
    float("inf"), float("-inf"), True, False, None, "", "x", "1", "1e-9", "nan", "\u0000", "\ud800", "a\nb", "é" * 3,
    "x" * 100_000, [], {}, [[]], {"": {}}, [0] * 10_000
)  # fmt: skip
#: Numbers as text that Python's writer cannot make.
LITERALS = ("1e999", "-1e999", "9" * 400, "9" * 5000, "NaN", "Infinity", "01", "1.", ".5", "0x10", "+1", "1_000", "'1'")


def flip_bits(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut(content: bytes, rng: random.Random) -> bytes:
    first, second = sorted((rng.randrange(len(content)), rng.randrange(len(content))))
    return rng.choice((content[:first], content[first:], content[:first] + content[second:]))


def shuffle_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            del lines[place]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            rng.shuffle(lines)
        case 3:
            lines[place] = lines[place].rstrip(b"\n")
        case 4:
            lines[place] = lines[place][: rng.randrange(len(lines[place]))] + b"\n"
        case _:
            lines[place] = rng.choice((b"\n", b"null\n", b"[]\n", b"{}\n", b"\x00\n", b"\xff\xfe\n"))
    return b"".join(lines)


def double_key(content: bytes, rng: random.Random) -> bytes:
    places = [place for place, byte in enumerate(content) if byte == ord("{")]
    if not places:
        return content
    place = rng.choice(places) + 1
    return content[:place] + rng.choice((b'"schema": 1, "schema": 2, ', b'"a": 1, "a": 1, ')) + content[place:]


def deep(content: bytes, rng: random.Random) -> bytes:
    """Put a document of many levels, or a wide one, in place of the file or before its end."""
    levels = rng.choice((50, 200, 5_000, 100_000))
    nested = rng.choice(
        ("[" * levels + "]" * levels, '{"a":' * levels + "1" + "}" * levels, "[" * levels, "[" + "0," * levels + "0]")
    ).encode()
    return rng.choice((nested, nested + b"\n" + content, content + nested))


def place_in(document: Any, rng: random.Random) -> Place:
    """Return the place of a value in a document, found from its top: large lists don't draw all changes to them."""
    while True:
        key = rng.choice(list(document) if isinstance(document, dict) else range(len(document)))
        if not (isinstance(document[key], dict | list) and document[key] and rng.random() < 0.7):
            return document, key
        document = document[key]


def change_value(document: Any, rng: random.Random) -> str:
    """Put an odd value somewhere into a document, or remove or add one; return it as JSON."""
    holder, key = place_in(document, rng)
    action = rng.randrange(6)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, dict):
        holder[rng.choice(("surprise", "", key + "x"))] = holder.pop(key)
    elif action == 2:
        holder[key] = "@LITERAL@"
        return json.dumps(document).replace('"@LITERAL@"', rng.choice(LITERALS))
    elif action == 3 and isinstance(holder[key], int | float):
        holder[key] = rng.choice((-holder[key], holder[key] * 1000, str(holder[key]), [holder[key]], not holder[key]))
    else:
        holder[key] = rng.choice(ODD)
    return json.dumps(document)


def change_json(content: bytes, rng: random.Random) -> bytes:
    return change_value(json.loads(content), rng).encode()


def change_json_line(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines()
    for _ in range(rng.choice((1, 1, 3))):
        place = rng.randrange(len(lines))
        try:
            lines[place] = change_value(json.loads(lines[place]), rng).encode()
        except (ValueError, IndexError):
            continue
    return b"\n".join(lines) + b"\n"


def change_yaml(content: bytes, rng: random.Random) -> bytes:
    text = content.decode()
    bomb = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
    values = (
        *LITERALS, ".inf", ".nan", "1:30", "0", "-1", "1e400", "[1, 2]", "{a: 1}", "*x", "&x 1",
        "!!python/name:os.system", "!!int 3", "yes", "null", "2020-01-01", "'", '"', "x" * 1000, "0o7", "1e308",
        "1e-320", "0.5", "7.5"
    )  # fmt: skip
    key = rng.choice((
        "clock_hz: {value: 1, unit: Hz, source: x}", "subgroup_size: {value: 0, unit: work-items, source: x}",
        "banks: {value: 32, unit: '', source: x}", "? [a]\n: 1", "1: 2", "<<: {}", "facts: 1"
    ))  # fmt: skip
    units = (
        ("clock_hz", "Hz"), ("memory_bandwidth_bytes_per_s", "B/s"), ("compute_units", ""), ("banks", ""),
        ("lanes_per_unit", ""), ("l2_miss_ratio", "share"), ("memory_latency_s", "s"), ("launch_s", "s"),
        ("max_items_per_unit", "work-items"), ("subgroup_size", "work-items"), ("cache_line_bytes", "B"),
        ("global_transaction_bytes", "B"), ("peak_flops_float32", "operation/s"), ("registers_per_unit", "registers"),
        ("cache_bandwidth_bytes_per_s", "B/s"), ("max_groups_per_unit", ""), ("issue_s", "s")
    )  # fmt: skip
    name, unit = rng.choice(units)
    one = f"  {name}: {{value: {rng.choice(values)}, unit: '{unit}', source: x}}\n"
    return rng.choice(
        (
            lambda: bomb + text, lambda: text + one, lambda: text + one + one, lambda: text + f"  {key}\n",
            lambda: "facts: " + "[" * 5000, lambda: "facts: " + "{a: " * 5000,
            lambda: "facts:\n" + "".join(" " * i + "a:\n" for i in range(1, 300)),
            lambda: text + "".join(f"  k{i}: {{value: 1, unit: '', source: x}}\n" for i in range(5000)),
            lambda: text.replace("value: ", f"value: {rng.choice(values)} # ", 1), lambda: text + "---\na: 1\n",
            lambda: "%YAML 9.9\n" + text,
        )
    )().encode()  # fmt: skip


def change_python(content: bytes, rng: random.Random) -> bytes:
    """Change a number, a word or a piece of text of a Python file, or what a function returns."""
    text = content.decode()
    words = [(found.start(), found.end()) for found in re.finditer(r"\b\w+\b", text)]
    start, end = rng.choice(words)
    numbers = [place for place in words if text[place[0]].isdigit()]
    odd = ("0", "-1", "2**31", "10**400", "1e999", "None", "[]", "''", "n", "i", "(" * 300, "é", "x" * 5000)
    lines = ("raise SystemExit(0)", "raise KeyError('a\\nb')", "import os; os._exit(7)", "return", "import missing")
    match rng.randrange(4):
        case 0 if numbers:
            start, end = rng.choice(numbers)
            return (text[:start] + rng.choice(odd) + text[end:]).encode()
        case 1:
            return (text[:start] + text[slice(*rng.choice(words))] + text[end:]).encode()
        case 2:
            return (text + rng.choice(lines) + "\n").encode()
        case _:
            return (text[:start] + rng.choice(odd) + text[end:]).encode()


Mutation = Callable[[bytes, random.Random], bytes]
ANY: tuple[Mutation, ...] = (flip_bits, cut, shuffle_lines, deep)
OF_SUFFIX: dict[str, tuple[Mutation, ...]] = {
    ".json": (double_key, change_json, change_json, change_json),
    ".jsonl": (double_key, change_json_line, change_json_line, change_json_line), ".yaml": (change_yaml, change_yaml),
    ".py": (change_python, change_python, change_python), ".txt": (),
}  # fmt: skip


def mutated(name: str, content: bytes, rng: random.Random) -> tuple[str, bytes]:
    mutation = rng.choice(ANY + OF_SUFFIX["." + name.rsplit(".", 1)[-1]])
    return mutation.__name__, mutation(content, rng)
