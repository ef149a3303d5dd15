from matplotlib.figure import Figure

from helpers.html_page import Page, svg_root
from rllib_ride.analysis import page


def figure_of(width):
    figure = Figure(figsize=(width, 2))
    figure.subplots().plot([0, 1], [0, 1])
    return figure


def test_a_page_holds_its_pictures_and_loads_nothing():
    picture = page.pictures([(figure_of(3), "a < b"), (figure_of(5), "c")], "Two", ["run it", "v1"])

    read = Page(page.page("A & B", [page.heading("H"), picture]))

    assert [text for text, _ in read.pictures] == ["a < b", "c"]
    widths = [float(svg_root(file).get("width").removesuffix("pt")) for _, file in read.pictures]
    assert widths == [3 * 72, 5 * 72]
    assert all(source.startswith("data:") for source in read.loaded)
    assert not {"script", "link", "iframe", "object"} & set(read.tags)
    assert all(text in read.text for text in ("A & B", "Two", "run it", "v1"))


def test_it_is_fit_for_a_phone():
    html = page.page("A", [page.table([{"x": "1"}])])

    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert "overflow-x: auto" in html and '<div class="wide"><table>' in html


def test_what_is_written_is_read_as_text():
    evil = "<script>alert(1)</script> & \"quotes\" 'both'"
    parts = [
        page.heading(evil),
        page.paragraph(evil),
        page.bullets([evil]),
        page.table([{evil: evil}]),
        page.pictures([(figure_of(1), evil)], evil, [evil, evil]),
    ]

    read = Page(page.page(evil, parts))

    assert "script" not in read.tags
    assert read.text.count(evil) == 2 + 1 + 1 + 1 + 2 + 3
    assert read.pictures[0][0] == evil


def test_columns_of_numbers_are_set_right():
    html = page.table([{"name": "a", "n": "1,000"}, {"name": "b", "n": "-"}])

    assert '<td class="number">1,000</td>' in html and '<td class="number">-</td>' in html
    assert "<td>a</td>" in html
