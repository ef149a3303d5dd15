"""Draws VizDoom's my_way_home from the level that the `vizdoom` package ships.

    python tools/my_way_home_map.py            # docs/images/vizdoom_*.png; prints the distances

Reads rooms, spawn spots and the vest from the level's TEXTMAP lump. A distance is the length of the
shortest walk of a body as wide as the player until it touches the vest.
"""

from __future__ import annotations

import argparse
import heapq
import math
import re
import struct
from pathlib import Path

import gymnasium as gym
import matplotlib
import numpy as np
import vizdoom

import rllib_ride  # noqa: F401  (registers the environments)
from rllib_ride.envs.registration import VIZDOOM_IDS
from rllib_ride.envs.vizdoom_my_way_home import SPAWNS

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

SPOT, VEST = 9001, 2018  # Doom's thing types.
PLAYER_RADIUS, VEST_RADIUS = 16, 20
STEP = 4  # Map units between points of the search grid.

Point = tuple[float, float]
Wall = tuple[Point, Point]


def lump(wad: bytes, name: str) -> bytes:
    """The lump (part) of a WAD file with this name."""
    _, count, directory = struct.unpack_from("<4sii", wad)
    for i in range(count):
        start, size, raw = struct.unpack_from("<ii8s", wad, directory + 16 * i)
        if raw.rstrip(b"\0").decode() == name:
            return wad[start : start + size]
    raise ValueError(f"no lump {name}")


def read_level(wad: bytes) -> tuple[list[Wall], list[Wall], dict[int, Point], Point]:
    """Walls, doorways, spawn spots by id, and the vest's position."""
    blocks: dict[str, list[dict[str, str]]] = {}
    text = re.sub(r"//.*", "", lump(wad, "TEXTMAP").decode())
    for kind, body in re.findall(r"(\w+)\s*\{([^}]*)\}", text):
        blocks.setdefault(kind, []).append(dict(re.findall(r"(\w+)\s*=\s*([^;]*);", body)))
    corners = [(float(v["x"]), float(v["y"])) for v in blocks["vertex"]]
    walls, doorways = [], []
    for line in blocks["linedef"]:
        ends = corners[int(line["v1"])], corners[int(line["v2"])]
        (doorways if "sideback" in line else walls).append(ends)
    places = [
        (int(t["type"]), t.get("id"), (float(t["x"]), float(t["y"]))) for t in blocks["thing"]
    ]
    spots = {int(tid): place for kind, tid, place in places if kind == SPOT and tid is not None}
    (vest,) = (place for kind, _, place in places if kind == VEST)
    return walls, doorways, spots, vest


def distances(walls: list[Wall], spots: dict[int, Point], vest: Point) -> dict[int, float]:
    """Length of the shortest walk from each spot to touching the vest (Dijkstra)."""
    ends = np.array(walls)
    margin = 2 * PLAYER_RADIUS  # No step leaves the grid: walls are thicker than a step is long.
    low, high = ends.min((0, 1)) - margin, ends.max((0, 1)) + margin
    x, y = np.meshgrid(
        *(np.arange(a, b, STEP) for a, b in zip(low, high, strict=True)), indexing="ij"
    )
    free = np.ones(x.shape, bool)
    for wall in ends:
        (x0, y0), (x1, y1) = wall.min(0) - PLAYER_RADIUS, wall.max(0) + PLAYER_RADIUS
        free &= ~((x0 < x) & (x < x1) & (y0 < y) & (y < y1))
    reach = PLAYER_RADIUS + VEST_RADIUS
    touching = free & (abs(x - vest[0]) < reach) & (abs(y - vest[1]) < reach)

    moves = [
        (i, j, STEP * math.hypot(i, j))
        for i in range(-4, 5)
        for j in range(-4, 5)
        if math.gcd(i, j) == 1
    ]
    shortest = np.full(x.shape, np.inf)
    shortest[touching] = 0
    queue = [(0.0, int(i), int(j)) for i, j in np.argwhere(touching)]
    while queue:
        length, i, j = heapq.heappop(queue)
        if length > shortest[i, j]:
            continue
        for di, dj, cost in moves:
            to = i + di, j + dj
            if free[to] and length + cost < shortest[to]:
                shortest[to] = length + cost
                heapq.heappush(queue, (length + cost, *to))
    nearest = {s: np.rint((np.array(p) - low) / STEP).astype(int) for s, p in spots.items()}
    return {spot: float(shortest[i, j]) for spot, (i, j) in nearest.items()}


def draw_map(path: Path, walls: list[Wall], doorways: list[Wall], spots: dict[int, Point],
             vest: Point, lengths: dict[int, float]) -> None:  # fmt: skip
    """Draws rooms, spots with their ids and distances, and the vest."""
    figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
    for lines, style in ((walls, {"color": "black"}), (doorways, {"color": "silver", "ls": ":"})):
        for ends in lines:
            axes.plot(*zip(*ends, strict=True), lw=1.5, **style)
    fixed = {spot: name for name, spot in SPAWNS.items() if spot is not None}
    for spot, (x, y) in spots.items():
        color = "tab:red" if spot in fixed else "tab:blue"
        axes.plot(x, y, ">" if spot in fixed else ".", color=color)
        text = f"{spot}: {lengths[spot]:.0f}"
        axes.annotate(
            f"{fixed[spot].replace('_', ' ')}\n{text}" if spot in fixed else text,
            (x, y), (4, 4), textcoords="offset points", fontsize=7, color=color,
        )  # fmt: skip
    axes.plot(*vest, "*", ms=14, color="tab:green")
    axes.annotate("vest", vest, (8, -3), textcoords="offset points", color="tab:green")
    axes.set(aspect="equal", xlabel="x, map units (east)", ylabel="y (north)")
    figure.savefig(path, dpi=90)


def draw_views(path: Path) -> None:
    """Draws the views from the fixed spawns: the game's picture and the agent's."""
    fixed = [name for name, spot in SPAWNS.items() if spot is not None]
    figure, axes = plt.subplots(len(fixed), 2, figsize=(5, 4.4), layout="constrained")
    for (screen, seen), spawn in zip(axes, fixed, strict=True):
        env = gym.make(VIZDOOM_IDS[spawn], render_mode="rgb_array")
        obs, _ = env.reset(seed=0)
        screen.imshow(env.render())
        screen.set_ylabel(spawn.replace("_", " "))
        seen.imshow(obs[:, :, -1], cmap="gray", vmin=0, vmax=255)
        for axis in (screen, seen):
            axis.set(xticks=[], yticks=[])
        env.close()
    figure.savefig(path, dpi=90)


def main() -> None:
    """Draws both pictures and prints the distances, longest first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    wad = Path(vizdoom.scenarios_path, "my_way_home.wad").read_bytes()
    walls, doorways, spots, vest = read_level(wad)
    lengths = distances(walls, spots, vest)
    draw_map(out / "vizdoom_map.png", walls, doorways, spots, vest, lengths)
    draw_views(out / "vizdoom_spawn.png")
    for spot in sorted(lengths, key=lambda spot: -lengths[spot]):
        print(f"{spot} {lengths[spot]:6.0f}")


if __name__ == "__main__":
    main()
