"""The whole truth suite: `python -m tests.truth` writes docs/truth.md, and exits with 1 if a bar is missed."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.truth import bounds, real, simulated
from tests.truth.report import bars_of, document

PAGE = Path(__file__).parents[2] / "docs" / "truth.md"


def main() -> int:
    """Runs both suites and the timings; the exit code."""
    timings = [timing for requests in bounds.BOUNDS_MS for timing in bounds.timings(requests)]
    _say("timings taken")
    verdicts = simulated.verdicts()
    _say(f"{len(verdicts)} simulated runs judged, {sum(bool(verdict.wrong) for verdict in verdicts)} wrong")
    tried = []
    for combination in real.combinations(short=False):
        runs = list(real.tried(combination))
        tried += runs
        _say(f"{combination.spec} {combination.fired}: {', '.join(run.found for run in runs)}")
    bars = bars_of(verdicts, tried, timings)
    PAGE.write_text(document(verdicts, tried, bars))
    for bar in bars:
        _say(f"{'holds ' if bar.holds else 'MISSED'} {bar.what}: {bar.reached} (asked for: {bar.asked})")
    return 0 if all(bar.holds for bar in bars) else 1


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
