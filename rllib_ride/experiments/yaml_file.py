"""Reading a YAML file, with errors that give its name and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from rllib_ride.experiments.errors import ConfigError, nearest

# YAML 1.1 takes `30e6` and `1e-4` for strings, because it wants a dot and a signed exponent; 1.2
# and every reader take them for numbers.
_FLOAT = re.compile(
    r"""^[-+]?(?:(?:\d[\d_]*)?\.\d[\d_]*(?:[eE][-+]?\d+)?
         |\d[\d_]*\.?(?:[eE][-+]?\d+)
         |\d[\d_]*\.
         |\.(?:inf|Inf|INF))$|^\.(?:nan|NaN|NAN)$""",
    re.VERBOSE,
)


class _Loader(yaml.SafeLoader):
    """`SafeLoader` with YAML 1.2's numbers, refusing a key that is given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen and key.value != "<<":
                raise yaml.MarkedYAMLError(
                    problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:float"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


def parse(text: str) -> Any:
    """The value that a piece of YAML stands for; raises `yaml.YAMLError`."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 (a subclass of SafeLoader)


def read(path: str | Path) -> dict[str, Any]:
    """The mapping that the file at `path` holds.

    Raises:
        ConfigError: no such file, not readable as YAML (with the line), or no mapping.
    """
    path = Path(path)
    try:
        content = parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        guess = nearest(path.name, [file.name for file in path.parent.glob("*.yaml")])
        hint = f"; did you mean {path.parent / guess}?" if guess else ""
        raise ConfigError(f"{path}: no such file{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path} line {line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:  # such as a date of a 13th month
        raise ConfigError(f"{path}: not readable as YAML: {error}") from None
    if not isinstance(content, dict):
        raise ConfigError(
            f"{path}: must hold keys and values (experiment: ..., env: ...), "
            f"not {'nothing' if content is None else type(content).__name__}"
        )
    return content
