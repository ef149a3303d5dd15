"""Reads an HTML page as a browser that may load nothing else: tags, images and text."""

from __future__ import annotations

import base64
import xml.etree.ElementTree
from html.parser import HTMLParser

_VOID = ("meta", "img", "br")
_LOADING = ("src", "href", "srcset", "action", "data", "poster", "background")


class Page(HTMLParser):
    """A parsed page.

    Attributes:
        tags: Names of all tags, in order.
        pictures: For each `img`, its alternative text and its decoded file.
        loaded: Values of all attributes from which a browser would load something.
        text: The visible text, without style sheets.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.pictures: list[tuple[str, bytes]] = []
        self.loaded: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        given = dict(attributes)
        self.loaded += [given[name] for name in _LOADING if name in given]
        if tag == "img":
            kind, _, data = given["src"].partition(",")
            assert kind == "data:image/svg+xml;base64"
            self.pictures.append((given["alt"], base64.b64decode(data, validate=True)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.text += data


def svg_root(file: bytes) -> xml.etree.ElementTree.Element:
    """The root of an SVG file; fails where there is none."""
    root = xml.etree.ElementTree.fromstring(file)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return root
