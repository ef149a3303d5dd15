"""Whether a plain value, as a file holds them, is one that a parameter's annotation asks for."""

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
"""What is told apart."""


def misfit(value: Any, parameter: inspect.Parameter) -> str | None:
    """What a value would have to be, in words; None if it fits, or nobody can tell.

    Nothing is asked of what is in a list or a mapping.

    Args:
        value: Such as a number, a text, or a list of them.
        parameter: Its default is right, and what is like it, whatever the annotation says.
    """
    if isinstance(value, np.generic):
        value = value.item()
    kinds = _wanted(parameter)
    if any(_fits(value, kind) for kind in kinds):
        return None
    # A whole number is a number, and null is seldom what was meant.
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
    """Classes of values, or values of a `Literal`; `object` for what is not told apart here."""
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
    if isinstance(value, bool):  # which Python takes for a whole number
        return kind in (bool, object)
    if kind is float:
        return isinstance(value, int | float)
    return isinstance(value, (list, tuple) if kind in (list, tuple) else kind)
