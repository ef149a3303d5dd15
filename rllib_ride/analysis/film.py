"""Writes a film of one episode: the level, and a chart of the bonus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from minigrid.core.grid import Grid
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from rllib_ride.analysis.episode_picture import draw_bonuses
from rllib_ride.analysis.episode_record import Episode, Recording
from rllib_ride.analysis.level import Level

_CHART = 560, 360  # pixels
_HEADING = 28
_PLAN_HEIGHT = _CHART[1] - 2 * 8
_LAST_MS = 2000
_COLORS, _METHOD = 254, Image.Quantize.FASTOCTREE  # the only method that keeps white white
_SAME = 255  # index of an unchanged pixel


def write_film(recording: Recording, path: Path) -> Path:
    """Writes the first episode as a looping GIF and returns its path.

    A step takes 150 ms, or less in a long episode, so that the film takes about half a minute.

    Args:
        recording: With bonuses and grids.
        path: Of the GIF.
    """
    film = Film(recording)
    first, last = film.frame(0), film.frame(len(film) - 1)
    # One palette for all frames, so that unchanged pixels need not be stored again.
    palette = Image.fromarray(np.concatenate([first, last])).quantize(_COLORS, _METHOD)
    shown = _indexed(first, palette)
    pictures = [_paletted(shown, palette)]
    for t in range(1, len(film)):
        indices = _indexed(film.frame(t), palette)
        pictures.append(_paletted(np.where(indices == shown, _SAME, indices), palette))
        shown = indices
    pictures[0].save(
        path,
        save_all=True,
        append_images=pictures[1:],
        duration=[step_ms(len(film) - 1)] * (len(film) - 1) + [_LAST_MS],
        loop=0,
        transparency=_SAME,
        disposal=1,  # the next frame is drawn over this one
        optimize=False,
    )
    return path


class Film:
    """The first episode of a recording as pictures, one for each of its T + 1 states.

    Left: the level and the agent. Right: the bonus of each step, pale for future steps.

    Args:
        recording: With bonuses and grids.

    Raises:
        ValueError: The grids or the bonuses were not kept.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        if recording.episodes[0].grids is None:
            raise ValueError("a film needs the grids of an episode")
        self._whole, self._ahead, self._ends = _chart(recording.episodes[0])

    def __len__(self) -> int:
        return len(self._ends)

    def frame(self, t: int) -> NDArray[np.uint8]:
        """The picture of state t, `[height, width, 3]`."""
        plan = _plan(self._recording.level, self._recording.episodes[0], t)
        end = self._ends[t]
        chart = np.concatenate([self._whole[:, :end], self._ahead[:, end:]], axis=1)
        height = max(len(plan), len(chart))
        picture = np.concatenate([_centred(plan, height), _centred(chart, height)], axis=1)
        return _headed(picture, _heading(self._recording, t))


def step_ms(steps: int) -> int:
    """Duration of a step in an episode of `steps`; GIF durations are multiples of 10 ms."""
    return min(max(30_000 // steps // 10 * 10, 30), 150)


def _indexed(frame: NDArray[np.uint8], palette: Image.Image) -> NDArray[np.uint8]:
    """The index of each pixel's colour in a palette, `[height, width]`."""
    picture = Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE)
    return np.asarray(picture)


def _paletted(indices: NDArray[np.uint8], palette: Image.Image) -> Image.Image:
    picture = Image.fromarray(indices.astype(np.uint8))
    colors = palette.getpalette()
    assert colors is not None
    picture.putpalette(colors + [255] * (3 * 256 - len(colors)))
    return picture


def _chart(episode: Episode) -> tuple[NDArray[np.uint8], NDArray[np.uint8], list[int]]:
    """Draws the bonus of each step.

    Returns:
        The chart, `[height, width, 3]`; the same with all steps pale; and for each of the T + 1
        states, the number of pixel columns of the steps up to it.
    """
    dpi = 100
    figure = Figure(figsize=(_CHART[0] / dpi, _CHART[1] / dpi), dpi=dpi, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.subplots()
    draw_bonuses(axes, episode)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=2,
        fontsize=7.5,
        frameon=False,
    )
    canvas.draw()
    chart = np.asarray(canvas.buffer_rgba())[..., :3].copy()
    middles = np.arange(len(episode) + 1) + 0.5  # between two steps
    columns = axes.transData.transform(np.stack([middles, middles * 0], axis=1))[:, 0]
    ends = [*columns[:-1].round().astype(int).tolist(), chart.shape[1]]
    top, bottom = (round(chart.shape[0] - y) for y in (axes.bbox.y1, axes.bbox.y0))
    ahead = chart.copy()
    ahead[top:bottom, ends[0] :] = 255 - (255 - ahead[top:bottom, ends[0] :]) // 4
    return chart, ahead, ends


def _plan(level: Level, episode: Episode, t: int) -> NDArray[np.uint8]:
    """The level at state t as MiniGrid draws it, cropped to its window."""
    assert episode.grids is not None
    left, right, top, bottom = level.window()
    tile = max(_PLAN_HEIGHT // max(bottom - top, right - left), 8)
    grid, _ = Grid.decode(episode.grids[t])
    x, y = episode.positions[t]
    picture = grid.render(tile, (int(x), int(y)), int(episode.directions[t]))
    return picture[top * tile : bottom * tile, left * tile : right * tile]


def _heading(recording: Recording, t: int) -> str:
    episode = recording.episodes[0]
    head = f"{recording.env}, {recording.method}: "
    if t == 0:
        return f"{head}start"
    done = f"{head}step {t}, {episode.kinds[t - 1]}, bonus {episode.paid()[t - 1]:.4f}"
    reward = episode.rewards[t - 1]
    return f"{done}, reward {reward:.2f}" if reward else done


def _centred(picture: NDArray[np.uint8], height: int) -> NDArray[np.uint8]:
    """Centres a picture vertically on white, with a left margin of 8 pixels."""
    canvas = np.full((height, picture.shape[1] + 8, 3), 255, np.uint8)
    top = (height - len(picture)) // 2
    canvas[top : top + len(picture), 8:] = picture
    return canvas


def _headed(picture: NDArray[np.uint8], text: str) -> NDArray[np.uint8]:
    head = Image.new("RGB", (picture.shape[1], _HEADING), "white")
    ImageDraw.Draw(head).text((8, 6), text, fill="black", font=ImageFont.load_default(14))
    return np.concatenate([np.asarray(head), picture])
