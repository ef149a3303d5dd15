"""Any file either is a valid experiment or is refused in one message."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.typed import is_one_message
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.limits import MOST_TRIALS
from rllib_ride.experiments.schema import ExperimentSpec, load_spec
from rllib_ride.experiments.trial import Trial, expand
from rllib_ride.experiments.yaml_file import parse

CLONE = Path(__file__).parents[2]
KEYS = list(ExperimentSpec.model_fields)
GOOD: dict[str, Any] = {
    "experiment": "x",
    "env": ["MiniGrid-Empty-5x5-v0", {"id": "MiniGrid-Empty-6x6-v0", "size": 7}],
    "method": ["ride", "none"],
    "preset": "tuned",
    "seed": [1, 2],
    "frames": 30e6,
    "config": {"lr": 1e-4, "intrinsic": {"coef": 0.1}},
    "grid": {"gamma": [0.9, 0.99]},
}

texts = st.text(max_size=30) | st.sampled_from(
    [
        "",
        " ",
        "/",
        "..",
        "../up",
        "a/b",
        "\0",
        "x" * 5000,
        "\ud800",
        "💥" * 300,
        "~",
        "=",
        "<<",
        "on",
    ]
)
numbers = (
    st.integers()
    | st.floats()
    | st.sampled_from([10**400, -(10**400), 2**63, 2**64, 1e308, 1e999, -0.0])
)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(texts | st.integers(), inner, max_size=5)
    ),
    max_leaves=12,
)
near_keys = st.sampled_from(KEYS) | st.sampled_from(KEYS).map(lambda key: key[:-1]) | texts

# Pieces of YAML that are meaningful in some context.
TOKENS = """
&a *a &b *b <<: - ? : , [ ] { } | > ' " # --- ... %YAML %TAG !!int !!bool !!float !!str !!set
!!binary !!timestamp !!omap !!python/object:os.system !x ! @ ` ~ null true on .nan .inf -.inf 1e999
0x_ 0b1 0o7 0777 1:30 1:30.5 2001-01-01 2001-13-41 =
"""
soup = st.lists(
    st.sampled_from(
        [*TOKENS.split(), *(f"{key}:" for key in KEYS), "\n", "\n  ", "\n    ", " ", "\t"]
    )
    | st.text(max_size=3),
    max_size=60,
).map("".join)


def outcome(content: bytes) -> ExperimentSpec | str:
    """The experiment in a file of this content, or the message that refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.yaml")
        path.write_bytes(content)
        try:
            return load_spec(path)
        except ConfigError as error:
            assert is_one_message(str(error)), error
            assert str(error).startswith(f"{path}")
            return str(error).removeprefix(str(path))


def dumped(content: Any) -> bytes:
    text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
    return text.encode("utf-8", errors="surrogatepass")


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes(content: bytes) -> None:
    assert isinstance(outcome(content), str)


@given(soup)
def test_any_yaml(text: str) -> None:
    assert outcome(text.encode("utf-8", errors="surrogatepass"))


@given(st.dictionaries(near_keys, values, max_size=12))
@example({"\ud800": None})
def test_any_mapping(content: dict[str, Any]) -> None:
    assert outcome(dumped(content))


@given(st.sampled_from(KEYS), values)
@example("grid", {5000 * "x": None})
def test_any_value_of_a_key_is_taken_or_refused_by_the_name_of_the_key(
    key: str, value: Any
) -> None:
    told = outcome(dumped({**GOOD, key: value}))
    if isinstance(told, str):
        assert key in told or " line " in told or "special characters" in told or "utf-8" in told


@given(
    st.sampled_from(sorted((CLONE / "tune_configs").glob("*.yaml"))),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 40), st.text(max_size=5) | soup)),
)
def test_any_edit_of_a_file_that_is_right(path: Path, edits: list[tuple[int, int, str]]) -> None:
    text = path.read_text(encoding="utf-8")
    for start, length, new in edits:
        text = text[:start] + new + text[start + length :]
    assert outcome(text.encode("utf-8", errors="surrogatepass"))


@given(
    st.lists(st.tuples(st.sampled_from("lms"), st.integers(0, 9), st.integers(1, 12)), max_size=30)
)
def test_aliases_are_worth_what_they_stand_for(parts: list[tuple[str, int, int]]) -> None:
    """With aliases expanded, content is no larger than a file may be, and never contains itself."""
    lines = ["a0: &a0 {x: 1, y: 2}"]
    for number, (kind, of, times) in enumerate(parts, 1):
        alias = f"*a{of % number}"
        written = {
            "l": f"[{', '.join([alias] * times)}]",
            "m": f"{{{', '.join(f'k{i}: {alias}' for i in range(times))}}}",
            "s": f"{{<<: {alias}, z: {alias}}}",
        }[kind]
        lines.append(f"a{number}: &a{number} {written}")
    try:
        found = parse("\n".join(lines))
    except yaml.YAMLError:
        return
    assert len(json.dumps(found)) < 10 * 2**16


options = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda key: key != "id"), values, max_size=3
)
specs = st.fixed_dictionaries(
    {
        "experiment": st.just("x"),
        "env": st.lists(
            st.builds(
                lambda env, more: {"id": env, **more}, st.sampled_from(["A-v0", "B-v1"]), options
            ),
            min_size=1,
            max_size=3,
        ),
        "method": st.lists(st.sampled_from(["ride", "icm", "m:x"]), min_size=1, max_size=3),
        "seed": st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3),
        "frames": st.integers(1, 10**15),
        "grid": st.dictionaries(
            st.text(min_size=1, max_size=12), st.lists(values, min_size=1, max_size=3), max_size=3
        ),
    }
)


@given(specs)
def test_every_trial_has_a_folder_of_its_own_and_comes_back_from_json(content: Any) -> None:
    spec = outcome(dumped(content))
    if isinstance(spec, str):
        return
    try:
        trials = expand(spec)
    except ConfigError as error:
        assert is_one_message(str(error))
        return
    names = [trial.name for trial in trials]
    assert len(set(names)) == len(names) <= MOST_TRIALS
    for trial in trials:
        assert len(trial.name.encode()) <= 255 and not set(trial.name) & set("/\0\n")
        assert trial.name not in (".", "..")
        again = Trial(**json.loads(json.dumps(trial.to_dict())))
        assert repr(again) == repr(trial)  # NaN is not equal to itself
    grid = spec.grid.values()
    assert len(trials) == len(spec.env) * len(spec.method) * len(spec.seed) * len(
        list(itertools.product(*grid))
    )
