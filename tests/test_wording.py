"""Texts of others in messages of ours."""

from rllib_ride.wording import last_line


def test_the_last_line_with_anything_on_it():
    assert last_line(ValueError("Traceback:\n  a.py\nE: it broke \n\n ")) == "E: it broke"
    assert last_line(ValueError()) == last_line(" \n") == ""
