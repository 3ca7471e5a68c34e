"""`python -m rig`, and what the console script `rig` calls. Light, so that Ctrl-C is caught from the start."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command and exits with its code."""
    try:
        from rig.cli import main as run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
