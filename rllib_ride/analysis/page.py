"""HTML for a self-contained page: embedded pictures, no scripts or requests, fit for a phone."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from matplotlib.figure import Figure

from rllib_ride.analysis.tables import is_number

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 90rem; padding: 1rem;
       color: #111; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
figure { margin: 0; }
.panels { display: grid; gap: 1rem;
          grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
.panels img { width: 100%; max-width: 46rem; height: auto; }
figcaption, .note { color: #333; font-size: 0.9rem; max-width: 60rem; }
code { overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #ddd; text-align: left;
         vertical-align: top; white-space: nowrap; }
td:last-child:not(.number) { white-space: normal; min-width: 14rem; }
th { border-bottom: 2px solid #555; }
.number { text-align: right; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A complete document: `title` above `parts`, which are HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """The heading of a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str) -> str:
    """A paragraph."""
    return f'<p class="note">{escape(text)}</p>'


def bullets(texts: Sequence[str]) -> str:
    """A bulleted list; empty without entries."""
    entries = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="note">{entries}</ul>' if texts else ""


def pictures(panels: Iterable[tuple[Figure, str]], caption: str, made_by: Sequence[str]) -> str:
    """Figures with alternative texts, side by side if there is room.

    Args:
        panels: Pairs of figure and alternative text.
        caption: What the figures show.
        made_by: Lines on how they were made; the first is a command.
    """
    images = "\n".join(
        f'<img src="{_data_uri(figure)}" alt="{escape(text)}">' for figure, text in panels
    )
    command, *others = (escape(line) for line in made_by)
    lines = "<br>".join([f"<code>{command}</code>", *others])
    return (
        f'<figure>\n<div class="panels">\n{images}\n</div>\n'
        f"<figcaption><p>{escape(caption)}</p><p>{lines}</p></figcaption>\n</figure>"
    )


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """A table of rows with equal keys; empty without rows. A wide table scrolls on its own."""
    if not rows:
        return ""
    names = list(rows[0])
    classes = {name: ' class="number"' if is_number(rows, name) else "" for name in names}
    head = "".join(f"<th{classes[name]}>{escape(name)}</th>" for name in names)
    body = "\n".join(
        "<tr>" + "".join(f"<td{classes[n]}>{escape(row[n])}</td>" for n in names) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def _data_uri(figure: Figure) -> str:
    file = io.BytesIO()
    figure.savefig(file, format="svg")
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode()}"
