"""Whether `wandb login` has left a key. Without Ray and W&B, for `doctor`."""

from __future__ import annotations

import contextlib
import netrc
import os
from pathlib import Path
from urllib.parse import urlsplit


def in_netrc(url: str) -> bool:
    """Whether there is a key for the server at `url`.

    By host and port, as W&B writes it; `requests.utils.get_netrc_auth` looks for the host alone.
    """
    files = [os.environ["NETRC"]] if "NETRC" in os.environ else ["~/.netrc", "~/_netrc"]
    for file in files:
        with contextlib.suppress(OSError, UnicodeDecodeError, netrc.NetrcParseError):
            if netrc.netrc(Path(file).expanduser()).authenticators(urlsplit(url).netloc):
                return True
    return False
