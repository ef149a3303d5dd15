"""Fixes the spawn spot in the `my_way_home` level of the `vizdoom` package.

Doom levels come in WAD files. This one's script draws one of 17 spots (their ids are 10 to 26) and
a heading when an episode starts. `fixed_spawn` changes three numbers of the compiled script: the
first id of the draw, the number of ids to draw from, and the largest heading. The level itself and
the package's file stay unchanged.

The numbers are found by the bytes around them in the `BEHAVIOR` lump (format ACSe: see "ACS0 object
format" on the ZDoom wiki), which is compiled from

    int map_point_start_id = 10;
    int map_points = 17;
    script 2 ENTER {
        int target_id = random(map_point_start_id, map_point_start_id + map_points - 1);
        ...
        SetActorAngle(0, random(0.0, 1.0));
"""

from __future__ import annotations

import struct

SPOTS = range(10, 27)

# Initial values of the script's variables: chunk MINI, its size, the first variable, then the
# vest's x (unused), its id, the first spot's id and the number of spots.
_VARIABLES = struct.Struct("<4s6i")
_RANDOM_SPOT = _VARIABLES.pack(b"MINI", 20, 0, 1312 << 16, 22, SPOTS.start, len(SPOTS))
# Push 0 and 0 (bytes), push 65536 (a whole turn), random, set the angle.
_ANGLE = struct.Struct("<3sBi3s")
_RANDOM_ANGLE = _ANGLE.pack(b"\xb0\x00\x00", 3, 1 << 16, b"\x39\xf0\x24")


def fixed_spawn(wad: bytes, spot: int) -> bytes:
    """Returns the level with every episode starting at one spot, facing east.

    East is heading 0, as at the level's own player start.

    Args:
        wad: contents of the package's `my_way_home.wad`.
        spot: id of the spot, one of `SPOTS`.

    Raises:
        ValueError: if there is no such spot or the file is not the known one.
    """
    if spot not in SPOTS:
        raise ValueError(f"spot {spot}: expected {SPOTS.start} to {SPOTS.stop - 1}")
    only_spot = _VARIABLES.pack(b"MINI", 20, 0, 1312 << 16, 22, spot, 1)
    east = _ANGLE.pack(b"\xb0\x00\x00", 3, 0, b"\x39\xf0\x24")
    for old, new in ((_RANDOM_SPOT, only_spot), (_RANDOM_ANGLE, east)):
        if wad.count(old) != 1:
            raise ValueError(
                "my_way_home.wad is not the one known (vizdoom 1.2.4 to 1.3.2): its spawn cannot "
                "be fixed; install one of these versions of vizdoom"
            )
        wad = wad.replace(old, new)
    return wad
