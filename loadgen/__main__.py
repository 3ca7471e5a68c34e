"""`python -m loadgen`, and what the console script `loadgen` calls. Light, so that Ctrl-C is caught from the start."""

from __future__ import annotations

from loadgen.entry import enter


def main() -> None:
    """Runs the command and exits with its code."""
    enter("loadgen.cli")


if __name__ == "__main__":
    main()
