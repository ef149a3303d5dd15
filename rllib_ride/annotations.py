"""Checks plain values, as read from a file, against the annotation of a parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np

_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a mapping of keys to values",
    type: "a Python class",
    Callable: "a Python function",
    NoneType: "null",
}
"""The types that are distinguished, and what messages call them."""


def misfit(value: Any, parameter: inspect.Parameter) -> str | None:
    """Says in words what a value should be; None if it fits or that cannot be decided.

    The items of lists and mappings are not checked.

    Args:
        value: For example a number, a string, or a list of them.
        parameter: Values of its default's type fit too, whatever the annotation says.
    """
    if isinstance(value, np.generic):
        value = value.item()
    kinds = _wanted(parameter)
    if any(_fits(value, kind) for kind in kinds):
        return None
    # Not mentioned: int if float is ("a number"), and null, which is seldom meant.
    left_out = {NoneType, int} if float in kinds else {NoneType}
    told = [kind for kind in kinds if kind not in left_out]
    words = [_WORDS[kind] if isinstance(kind, type) else repr(kind) for kind in told]
    return " or ".join(dict.fromkeys(words)) or _WORDS[NoneType]


def _wanted(parameter: inspect.Parameter) -> list[Any]:
    annotation, default = parameter.annotation, parameter.default
    has_default = default is not parameter.empty
    if annotation is parameter.empty:
        # A default of 1 may stand for 1.0, and None for anything.
        like = {int: float, NoneType: object}
        return [*_kinds(like.get(type(default), type(default)) if has_default else object)]
    kinds = [*_kinds(annotation)]
    if has_default and not any(_fits(default, kind) for kind in kinds):
        kinds += _kinds(type(default))
    return kinds


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types in `_WORDS`, or the values of a `Literal`; `object` for any other type."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _kinds(part)
    elif origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin is Literal:
        yield from get_args(annotation)
    else:
        kind = origin or annotation
        yield kind if isinstance(kind, Hashable) and kind in _WORDS else object


def _fits(value: Any, kind: Any) -> bool:
    if not isinstance(kind, type):
        return bool(value == kind)
    if isinstance(value, bool):  # a subclass of int
        return kind in (bool, object)
    if kind is float:
        return isinstance(value, int | float)
    return isinstance(value, (list, tuple) if kind in (list, tuple) else kind)
