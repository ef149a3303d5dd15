"""Gives each method the same line style in every figure, in colours safe for the colour-blind."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.typing import LineStyleType

# Source: Okabe and Ito, Color Universal Design (2008).
BLACK = "#000000"
ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#999999"


@dataclass(frozen=True)
class LineStyle:
    """A line's colour and dashes, in Matplotlib's notation."""

    color: str
    dashes: LineStyleType


_SOLID: LineStyleType = "-"
_METHODS = {
    "ride": LineStyle(BLUE, _SOLID),
    "icm": LineStyle(ORANGE, _SOLID),
    "rnd": LineStyle(GREEN, _SOLID),
    "count": LineStyle(PURPLE, _SOLID),
    "none": LineStyle(BLACK, _SOLID),
    "only_episodic_counts": LineStyle(VERMILLION, _SOLID),
    "no_episodic_counts": LineStyle(SKY_BLUE, _SOLID),
    "no_entropy_no_episodic_counts": LineStyle(GREY, _SOLID),
}
_COLORS = (VERMILLION, SKY_BLUE, GREY, BLUE, ORANGE, GREEN, PURPLE, BLACK)
_DASHES: tuple[LineStyleType, ...] = (
    _SOLID,
    "--",
    "-.",
    (0, (1, 1)),
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (1, 3)),
)


def line_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """A style for each label: fixed for the paper's methods, the next free one for all others.

    If only variants of a method are drawn, the first of them gets the method's style. Styles repeat
    if there are more other labels than free styles (40).
    """
    labels = list(dict.fromkeys(labels))
    first: dict[str, str] = {}
    for label in sorted(labels, key=lambda label: label not in _METHODS):  # stable
        first.setdefault(_method(label), label)
    own = {first[method]: style for method, style in _METHODS.items() if method in first}
    combinations = [LineStyle(c, d) for d, c in itertools.product(_DASHES, _COLORS)]
    free = itertools.cycle(style for style in combinations if style not in _METHODS.values())
    return {label: own[label] if label in own else next(free) for label in labels}


def literal(text: str) -> str:
    """Escapes `$`, which would begin a formula in Matplotlib."""
    return text.replace("$", r"\$")


def sort_key(label: str) -> tuple[int, str]:
    """Sort key of labels in legends and tables: the paper's methods first, then the others.

    Variants in a grid search are sorted with their method.
    """
    method = _method(label)
    position = list(_METHODS).index(method) if method in _METHODS else len(_METHODS)
    return position, label


def _method(label: str) -> str:
    """The method of a label, without its variant."""
    return label.partition(" ")[0]
