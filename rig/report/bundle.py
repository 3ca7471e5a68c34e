"""The charts' JavaScript (Vega, Vega-Lite, Vega-Embed) as one text, which vl-convert puts together once a version.

That takes seconds of a core, so the text stays in the user's cache, and where it is not there yet another process makes
it while this one reads the runs: `python -m rig.report.bundle`.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

from servers.builds import cache

VEGA_LITE: Final = "6.4"
"""The version that Altair's charts are written for, of those that vl-convert has."""

_SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"
"""What is to be had of it in a page."""


@contextlib.contextmanager
def javascript() -> Iterator[Callable[[], str]]:
    """Entered, has the text made where it is not in the cache; the function it gives waits for that and returns it."""
    file = cache() / f"vega-{VEGA_LITE}-vl-convert-{version('vl-convert-python')}.js"
    with contextlib.ExitStack() as stack:
        maker = None
        if not file.exists():
            command = [sys.executable, "-m", "rig.report.bundle", str(file)]
            maker = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))

        def text() -> str:
            if maker is not None:
                maker.wait()
            with contextlib.suppress(OSError):  # a cache that cannot be written costs time, and nothing else
                return file.read_text(encoding="utf-8")
            return _made()

        yield text


def _made() -> str:
    import vl_convert

    return vl_convert.javascript_bundle(_SNIPPET, VEGA_LITE)


def _keep(file: Path) -> None:
    """Makes the text and puts it there, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as part:
        try:
            part.write(_made())
            part.flush()
        except OSError:  # no room
            Path(part.name).unlink()
            raise
    Path(part.name).replace(file)


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
