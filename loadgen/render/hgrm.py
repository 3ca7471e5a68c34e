"""The .hgrm form: the percentile distribution that HdrHistogram's plotters read, in ms."""

from __future__ import annotations

import io
from collections.abc import Iterator

from loadgen.histogram import Histogram
from loadgen.run import Run
from loadgen.summary import NS_PER_MS


def hgrm_lines(heading: str, run: Run) -> Iterator[str]:
    """A run's block: its heading as a comment, then the distribution of the ok requests' response times."""
    if run.tally is not None:
        response = run.tally.response
    else:
        response = Histogram()
        response.add(run.samples.response_ns[run.samples.ok])
    yield f"#[{heading}]\n"
    if not response.total:
        yield "#[no request was ok]\n"
        return
    hdr = response.to_hdr()
    text = io.BytesIO()
    hdr.output_percentile_distribution(text, NS_PER_MS)
    for line in text.getvalue().decode("ascii").splitlines(keepends=True):
        if line.startswith("#[Mean"):  # the library leaves the deviation in ns
            mean_ms, deviation_ms = response.sum_ns / response.total / NS_PER_MS, hdr.get_stddev() / NS_PER_MS
            line = f"#[Mean    = {mean_ms:12.3f}, StdDeviation   = {deviation_ms:12.3f}]\n"
        yield line
