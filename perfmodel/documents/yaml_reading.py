"""YAML within limits, and without what a table of facts does not need: aliases, tags, and a key twice."""

from __future__ import annotations

from typing import Any

import yaml

from perfmodel.documents.limits import LIMITS, shortened
from perfmodel.errors import DocumentError


def yaml_document(content: bytes) -> Any:
    """Return the document of a YAML text in UTF-8.

    Raises
    ------
    DocumentError
        If it is no YAML, has a key twice, an alias or a tag, or is beyond :data:`LIMITS`.
    """
    if len(content) > LIMITS.yaml_bytes:
        raise DocumentError(f"has more than {LIMITS.yaml_bytes} bytes, the most that is read")
    try:
        return yaml.load(content.decode(), _Loader)
    except UnicodeDecodeError as error:
        raise DocumentError("holds bytes that are not UTF-8") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError(f"is no YAML: {shortened(' '.join(str(error).split()), quoted=False)}") from error


class _Loader(yaml.SafeLoader):
    level = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse what may make a document large or give it another type, before its content is read."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise DocumentError(f"uses an anchor or alias in line {line}; write the value out")
        if event.tag is not None:
            raise DocumentError(f"uses the tag {event.tag!r} in line {line}; leave it out")
        if self.level > LIMITS.depth:
            raise DocumentError(f"nests lists and mappings more than {LIMITS.depth} levels deep")
        self.level += 1
        node = super().compose_node(parent, index)
        self.level -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Refuse a key that is no word, or that is there already."""
        seen: set[str] = set()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise DocumentError(f"has a key that is no word in line {line}")
            if key.value in seen:
                raise DocumentError(f"has the key '{key.value:.40}' twice, again in line {line}")
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: Any) -> Any:
        """Refuse a number of base 60, and one of too many digits."""
        if ":" in node.value:  # YAML 1.1 reads 1:30 as 90
            raise DocumentError(f"holds {node.value:.40} in line {node.start_mark.line + 1}, which is no number")
        if len(node.value) > LIMITS.digits:
            raise DocumentError(f"holds an integer of {len(node.value)} digits; {LIMITS.digits} are read at most")
        return super().construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
