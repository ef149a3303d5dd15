"""Reads YAML files; errors give the file's name and the line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.reading import read_bytes
from rllib_ride.wording import nearest, one_line, shown

MOST_CHARACTERS = 1 << 16
"""Most characters of a file, and of its content with all aliases expanded.

The files of `tune_configs/` have 2,000; PyYAML takes a second or two for the maximum.
"""

DEEPEST = 30
"""Most levels of nested lists and mappings, into which PyYAML, `repr` and copying recurse."""

_TAG = "tag:yaml.org,2002:"
_PLAIN = ("bool", "float", "int", "map", "null", "seq", "str")  # types that JSON has too

# YAML 1.1 reads `30e6` and `1e-4` as strings, because it requires a dot and a signed exponent. YAML
# 1.2, and every human reader, take them for numbers.
_FLOAT = re.compile(
    r"""^[-+]?(?:(?:\d[\d_]*)?\.\d[\d_]*(?:[eE][-+]?\d+)?
         |\d[\d_]*\.?(?:[eE][-+]?\d+)
         |\d[\d_]*\.
         |\.(?:inf|Inf|INF))$|^\.(?:nan|NaN|NAN)$""",
    re.VERBOSE,
)


class _Loader(yaml.SafeLoader):
    """`SafeLoader` for JSON's types, with YAML 1.2's numbers; keys must be text and unique.

    It knows no other types, such as dates and sets: a trial's settings are kept as JSON. A document
    that is too large or too deep with aliases expanded is refused before any value is built.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._level = 0
        self._extents: dict[yaml.Node, tuple[int, int]] = {}  # characters and levels of each node

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Composes the next node and records it in `_extents`; refuses one too large or deep."""
        mark, is_alias = self.peek_event().start_mark, self.check_event(yaml.AliasEvent)
        self._level += 1
        if self._level > DEEPEST:
            raise _fault(f"is nested more than {DEEPEST} levels deep", mark)
        node = super().compose_node(parent, index)
        self._level -= 1
        if node is None:
            return None
        if not is_alias:
            self._extents[node] = self._extent(node)
        elif node not in self._extents:
            raise _fault("an alias stands in the very part that it is of", mark)
        characters, levels = self._extents[node]
        if characters > MOST_CHARACTERS:
            raise _fault(f"has more than {MOST_CHARACTERS:,} characters, aliases written out", mark)
        if levels > DEEPEST:
            raise _fault(f"is nested more than {DEEPEST} levels deep, aliases written out", mark)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Composes the next mapping; checks its keys before merge keys (`<<`) add others."""
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == f"{_TAG}merge":
                continue
            if key.tag != f"{_TAG}str" or not isinstance(key, yaml.ScalarNode):
                what = shown(key.value) if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                raise _fault(f"a key must be text, not {what} (quotes make it one)", key.start_mark)
            if key.value in seen:
                raise _fault(f"key {shown(key.value)} is given twice", key.start_mark)
            seen.add(key.value)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node; an explicit tag that does not fit it is a YAML error."""
        try:
            return super().construct_object(node, deep)
        except (LookupError, ValueError):  # an explicit tag, such as `!!bool maybe`
            what = f"{shown(node.value)} is no {node.tag.removeprefix(_TAG)}"
            raise _fault(what, node.start_mark) from None

    def _extent(self, node: yaml.Node) -> tuple[int, int]:
        if isinstance(node, yaml.ScalarNode):
            if any("\ud800" <= c <= "\udfff" for c in node.value):
                raise _fault(f"{shown(node.value)} has half a character", node.start_mark)
            return len(node.value) + 1, 1
        pairs = isinstance(node, yaml.MappingNode)
        inner = [part for pair in node.value for part in pair] if pairs else node.value
        extents = [self._extents[part] for part in inner]
        return 1 + sum(c for c, _ in extents), 1 + max((d for _, d in extents), default=0)


def _fault(problem: str, mark: yaml.Mark) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _whole_number(loader: _Loader, node: yaml.ScalarNode) -> int:
    # Parsing time grows with the square of the length; 64 bits take 66 characters in base 2.
    value = loader.construct_yaml_int(node) if len(node.value) <= 100 else None
    if value is None or value.bit_length() > 64:
        raise _fault(f"{shown(node.value)} has more than 64 bits", node.start_mark)
    return value


_Loader.yaml_constructors = {
    tag: constructor
    for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
    if tag is None or tag.removeprefix(_TAG) in _PLAIN
}
_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in rules
        if tag.removeprefix(_TAG) in ("bool", "int", "merge", "null")
    ]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+0123456789."))
_Loader.add_constructor(f"{_TAG}int", _whole_number)


def parse(text: str) -> Any:
    """The value that a piece of YAML stands for; raises `yaml.YAMLError`."""
    if len(text) > MOST_CHARACTERS:
        raise yaml.YAMLError(f"is longer than {MOST_CHARACTERS:,} characters")
    return yaml.load(text, Loader=_Loader)  # noqa: S506 (a subclass of SafeLoader)


def reason(error: yaml.YAMLError) -> str:
    """What is wrong, in one line."""
    problem = getattr(error, "problem", None) or getattr(error, "context", None)
    return one_line(problem or str(error))


def read(path: str | Path) -> dict[str, Any]:
    """The mapping that the file at `path` holds.

    Raises:
        ConfigError: There is no such file, it is not readable as YAML (with the line), or it holds
            no mapping.
    """
    path = Path(path)
    try:
        content = parse(read_bytes(path, 4 * MOST_CHARACTERS).decode("utf-8"))
    except FileNotFoundError:
        guess = nearest(path.name, [file.name for file in path.parent.glob("*.yaml")])
        hint = f"; did you mean {path.parent / guess}?" if guess else ""
        raise ConfigError(f"{path}: no such file{hint}") from None
    except ValueError as error:  # too large, or not UTF-8, for example
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path} line {line}: {reason(error)}") from None
    except yaml.YAMLError as error:  # an invalid character, or too many characters
        raise ConfigError(f"{path}: not readable as YAML: {reason(error)}") from None
    if not isinstance(content, dict):
        raise ConfigError(
            f"{path}: must hold keys and values (experiment: ..., env: ...), "
            f"not {'nothing' if content is None else type(content).__name__}"
        )
    return content
