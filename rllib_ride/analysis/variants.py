"""Names the runs of one method by the settings in which they differ."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from rllib_ride.analysis.settings import algorithm_of, entry_of, settings_of

_LONGEST = 24  # characters of a value that a legend can hold
_LONGEST_KEY, _LONGEST_NAME = 40, 120  # of a setting's name, and of all of them together
_UNTOLD = object()


def variants(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names what sets each run apart from the others of a report, except its seed; may be empty.

    A name such as `PPO, lr=0.0001` consists of:

    - the algorithm, if the report has several;
    - the preset, if an algorithm has several;
    - the settings that differ between runs of the same task, method, algorithm and preset.

    A usual value is omitted: one that more than half of these runs' distinct combinations of
    settings share, over all tasks. So in a search around one setting, each other run is named by
    what it changes, and the usual runs of a searched task are named as on other tasks.

    Args:
        facts: The contents of each run's `run.json`.
    """
    trainers = [(algorithm_of(fact["config"]), str(fact.get("preset") or "")) for fact in facts]
    algorithms = {algorithm for algorithm, _ in trainers}
    has_algorithms, has_presets = len(algorithms) > 1, len(set(trainers)) > len(algorithms)
    names = [""] * len(facts)
    methods = [(fact["method"], *trainer) for fact, trainer in zip(facts, trainers, strict=True)]
    for (_, algorithm, preset), indices in _groups(methods).items():
        common = [algorithm] * has_algorithms + [preset] * has_presets
        peers = [facts[index] for index in indices]
        tasks = [(fact["env"], repr(fact.get("env_options"))) for fact in peers]
        differing = _differing(tasks, [settings_of(fact["config"]) for fact in peers])
        for index, settings in zip(indices, differing, strict=True):
            name = ", ".join(filter(None, [*common, *settings]))
            names[index] = _short(name, _LONGEST_NAME)
    return names


def _differing(tasks: Sequence[Hashable], runs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """For each run, `key=value` of the settings that distinguish it from others of its task."""
    columns, of_task = _columns(runs), _groups(tasks).values()
    varied = [
        (name, indices)
        for name, column in columns.items()
        for indices in of_task
        if len({_identity(column[index]) for index in indices} - {_UNTOLD}) > 1
    ]
    usual = _usual(tasks, {name: columns[name] for name, _ in varied})
    parts: list[list[str]] = [[] for _ in runs]
    for name, indices in varied:
        key = printed(_short_name(name, columns), _LONGEST_KEY)
        values = [columns[name][index] for index in indices]
        # If some run lacks the setting, show the usual value too: the two would look the same.
        unsaid = _UNTOLD if _UNTOLD in values else usual[name]
        for index, value, text in zip(indices, values, _texts(values), strict=True):
            if value is not _UNTOLD and _identity(value) != unsaid:
                parts[index].append(f"{key}={text}")
    return parts


def _columns(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of each setting in all runs; `_UNTOLD` if a run's code lacked the entry."""
    entries = [{entry_of(name) for name in run} for run in runs]
    columns = {}
    for name in sorted({name for run in runs for name in run}):
        entry = entry_of(name)
        columns[name] = [
            run.get(name) if entry in of_run else _UNTOLD
            for run, of_run in zip(runs, entries, strict=True)
        ]
    return columns


def _usual(tasks: Sequence[Hashable], columns: Mapping[str, Sequence[Any]]) -> dict[str, Hashable]:
    """The value of each column in more than half of the distinct rows; `_UNTOLD` if none is."""
    rows = {
        (task, *map(_identity, row)) for task, *row in zip(tasks, *columns.values(), strict=True)
    }
    usual = {}
    for at, name in enumerate(columns, start=1):
        value, count = Counter(row[at] for row in rows).most_common(1)[0]
        usual[name] = value if 2 * count > len(rows) else _UNTOLD
    return usual


def _groups(keys: Sequence[Hashable]) -> dict[Any, list[int]]:
    """The indices of each distinct key."""
    groups = defaultdict(list)
    for index, key in enumerate(keys):
        groups[key].append(index)
    return groups


def _identity(value: Any) -> Hashable:
    """A key that is equal for equal values, including 1 and 1.0, and two NaN."""
    is_number = isinstance(value, int | float) and value == value
    return value if is_number or value is _UNTOLD else repr(value)


def _short_name(name: str, known: Iterable[str]) -> str:
    """The shortest suffix of a dotted name that is not a suffix of another name."""
    parts = name.split(".")
    for start in range(len(parts) - 1, 0, -1):
        end = ".".join(parts[start:])
        if sum(f".{other}".endswith(f".{end}") for other in known) == 1:
            return end
    return name


def _texts(values: Sequence[Any]) -> list[str]:
    """Short texts of the values; distinct values have distinct texts."""
    texts = [_text(value) for value in values]
    if len(set(texts)) == len({_identity(value) for value in values}):
        return texts
    return [printed(repr(value), _LONGEST) for value in values]


def _text(value: Any) -> str:
    match value:
        case float():
            text = f"{value:g}"
        case [[0, float() as first], [int() as frames, float() as last]] if frames < 10**15:
            text = f"{first:g} to {last:g} at {frames / 1e6:g}M"
        case _:
            text = str(value)
    return printed(text, _LONGEST)


def printed(text: str, longest: int) -> str:
    """The text as a figure can show it: printable, and shortened to `longest` characters."""
    return _short(text if text.isprintable() else ascii(text), longest)


def _short(text: str, longest: int) -> str:
    """The text; if it is too long, its beginning and its checksum."""
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}...{zlib.crc32(text.encode()):08x}"
