"""What the entry points take on their command line. Written by `servers.table`, not by people."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def parse(numbers: Sequence[str], *, optional: Sequence[str] = ()) -> argparse.Namespace:
    """`host`, `port` and the named whole numbers; the `optional` ones are None where they are not given."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    for name in numbers:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, required=True)
    for name in optional:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    return parser.parse_args()
