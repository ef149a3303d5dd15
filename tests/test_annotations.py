"""Values that annotations take, and what is said of others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, Optional

import numpy as np
import pytest

from rllib_ride.annotations import misfit

NOTHING = inspect.Parameter.empty


def parameter(annotation: Any, default: Any = NOTHING) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter("x", kind, annotation=annotation, default=default)


@pytest.mark.parametrize(
    ("value", "annotation", "default"),
    [
        (1, float, NOTHING),
        (None, float | None, 1.0),
        ("auto", int | Literal["auto"] | None, 1),
        ([[0, 1.0]], float | list[list[float]], 0.1),
        ([1], tuple[int, ...], (1,)),
        ("foo", "float", 1.0),  # of an annotation that is still a text nothing is known
        ("foo", Any, 1.0),
        ("foo", [int, str], 3),  # nor of one that is none
        (np.int64(5), float, NOTHING),
        (np.float32(5), float, NOTHING),
        (np.int64(5), int, NOTHING),
        (np.bool_(True), bool, NOTHING),
        ("foo", Optional["inspect.Parameter"], None),
        (True, str, False),  # the default shows that the annotation is wrong
        (None, float, None),
        (0.5, NOTHING, 1),
        ("foo", NOTHING, None),
        ("foo", NOTHING, NOTHING),
    ],
)
def test_what_fits(value: Any, annotation: Any, default: Any) -> None:
    assert misfit(value, parameter(annotation, default)) is None


@pytest.mark.parametrize(
    ("value", "annotation", "default", "right"),
    [
        (1.5, int, NOTHING, "a whole number"),
        (True, int, NOTHING, "a whole number"),
        ("foo", int | float | None, 1, "a number"),
        ("foo", float | list[list[float]], 0.1, "a number or a list"),
        ("foo", int | Literal["auto"] | None, 1, "a whole number or 'auto'"),
        (0, bool, True, "true or false"),
        (None, float, 1.0, "a number"),
        ("foo", type[int] | None, None, "a Python class"),
        ("foo", Callable[[int], int], None, "a Python function"),
        ("foo", dict[str, int], NOTHING, "a mapping of keys to values"),
        ("foo", float, None, "a number"),
        ("foo", NOTHING, 1, "a number"),
        ("foo", NOTHING, (1, 2), "a list"),
        ("foo", type(None), NOTHING, "null"),
    ],
)
def test_what_does_not_is_told_in_words(
    value: Any, annotation: Any, default: Any, right: str
) -> None:
    assert misfit(value, parameter(annotation, default)) == right
