"""Writes constraints.txt: the versions `pip install '.[all]'` resolves to today, as exact pins.

Run it with the oldest supported Python (`make lock`): a package with a wheel for it has wheels for
newer ones. A pin names a public version only, so that any build (CPU or CUDA torch) satisfies it.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# boto3 needs python-dateutil 2; without this pin, pip tries every version of boto3 to find out.
HELD = ["torch==2.13.0", "numpy==1.26.4", "python-dateutil<3"]
# From Python 3.13 on, the `mario` extra is another release, without limits on numpy and pandas.
FROM_PYTHON_3_13 = {
    "gym-super-mario-bros": "9.1.0",
    "nes-py": "9.0.1",
    "numpy": "2.5.5",
    "pandas": "3.1.1",
}
HEADER = """\
# Tested versions of everything `.[all]` installs. Made by `make lock`; do not edit by hand.
# Tested with Python 3.11. For 3.12 and 3.13 pip resolves the set; its tests were not run there.
"""


def resolve() -> dict[str, str]:
    """The newest set of packages that satisfies setup.cfg, by pip: {normalised name: version}."""
    with tempfile.TemporaryDirectory() as folder:
        held, report = Path(folder, "held.txt"), Path(folder, "report.json")
        held.write_text("\n".join(HELD))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        options = ["--ignore-installed", "--constraint", str(held), "--report", str(report)]
        subprocess.run([*pip, *options, f"{ROOT}[all]"], check=True)
        installs = json.loads(report.read_text())["install"]
    metadata = [install["metadata"] for install in installs]
    return {
        re.sub(r"[-_.]+", "-", item["name"]).lower(): item["version"].partition("+")[0]
        for item in metadata
    }


def lines(versions: dict[str, str]) -> list[str]:
    """Formats the pins: one line per package, two where Python 3.13 takes another release."""
    pins = []
    for name, version in sorted(versions.items()):
        if name == "rllib-ride":
            continue
        if name in FROM_PYTHON_3_13:
            pins.append(f'{name}=={version}; python_version < "3.13"')
            pins.append(f'{name}=={FROM_PYTHON_3_13[name]}; python_version >= "3.13"')
        else:
            pins.append(f"{name}=={version}")
    return pins


if __name__ == "__main__":
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(lines(resolve())) + "\n")
