"""`python -m loadgen`, and what the console script `loadgen` calls. Light, so that Ctrl-C is caught from the start."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Runs the command and exits with its code."""
    try:
        from loadgen.cli import main as run

        code = run()
    except KeyboardInterrupt:
        code = 130
    # All is said. A Ctrl-C from here on could only make a traceback, out of the interpreter's own end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


if __name__ == "__main__":
    main()
