"""Whether `wandb login` has stored an API key. Imports neither Ray nor W&B, for `doctor`."""

from __future__ import annotations

import contextlib
import netrc
import os
from pathlib import Path
from urllib.parse import urlsplit


def in_netrc(url: str) -> bool:
    """Whether netrc holds a key for the server at `url`.

    Matches host and port, as W&B writes them; `requests.utils.get_netrc_auth` only matches hosts.
    """
    files = [os.environ["NETRC"]] if "NETRC" in os.environ else ["~/.netrc", "~/_netrc"]
    for file in files:
        with contextlib.suppress(OSError, UnicodeDecodeError, netrc.NetrcParseError):
            if netrc.netrc(Path(file).expanduser()).authenticators(urlsplit(url).netloc):
                return True
    return False
