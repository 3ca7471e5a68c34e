"""Run folders for the tests of reports: one from a real comparison, and larger ones made of samples."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from loadgen.samples import Samples
from loadgen.store import CSV_HEADER, csv_rows
from tests.rig.support import Place

SPECS: Final = ("calibrated:limit=3,service_ms=60", "calibrated:limit=6,service_ms=60", "calibrated:limit=2,shed=true")
RUNS: Final = 3

_LOAD: Final = ("--n", "12", "--runs", str(RUNS), "--over", "100ms")
_RESOURCES: Final = (
    "profile,run,at_ns,side,cpu_percent,rss_bytes,threads,descriptors,context_switches,queue,in_flight,waiting,"
    "gc_pause_ms"
)


def compared(place: Place, folder: Path) -> Path:
    """The run folder of a real comparison of SPECS, with resources as a sampler would have written them."""
    output, samples = place.path / "output.json", place.path / "samples.csv"
    arguments = ["compare", *SPECS, *_LOAD, "--output-format", "json", "--output", str(output)]
    ended = place.run(*arguments, "--samples", str(samples))
    assert ended.returncode == 0, ended.stderr
    body = json.loads(output.read_text())
    write(folder, body, ["rig", *arguments[:-4]], samples.read_text())
    rows = [_RESOURCES]
    for profile in body["profiles"]:
        for run in profile["runs"]:
            for step in range(4):
                at = f'"{profile["profile"]}",{run["run"]},{step * 50_000_000}'
                rows.append(f"{at},server,{10 * step},{2**20 * (20 + step)},5,30,7,{3 - step},,,")
                rows.append(f"{at},client,9,,,,,,,,")
    (folder / "resources.csv").write_text("\n".join(rows) + "\n")
    return folder


def write(folder: Path, body: Mapping[str, Any], command: Sequence[str], samples: str) -> None:
    """A run folder of these; `samples` is the text of its CSV file."""
    folder.mkdir(parents=True)
    result = {
        **body,
        "schema": "rig-run/1",
        "loadrig": "0.1.0",
        "name": "three",
        "kind": "compare",
        "command": list(command),
        "time": "2026-11-30T22:05:00+00:00",
        "complete": True,
    }
    (folder / "result.json").write_text(json.dumps(result))
    with gzip.open(folder / "samples.csv.gz", "wt", newline="") as file:
        file.write(samples)


def csv_text(runs: Mapping[tuple[str, int], Samples]) -> str:
    """The samples' file of runs by profile and number."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("profile", *CSV_HEADER))
    for (profile, run), samples in runs.items():
        writer.writerows((profile, *row) for row in csv_rows(run, samples))
    return text.getvalue()
