"""What the tests of metrics share: a real Prometheus, a scrape, and loadgen beside the block."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from prometheus_client.parser import text_string_to_metric_families

from servers.ports import free_port
from tests.servers.support import eventually
from tests.support import PATIENCE_S, start_script

HOST: Final = "127.0.0.1"


def fetch(url: str, accept: str = "") -> bytes:
    request = urllib.request.Request(url, headers={"Accept": accept} if accept else {})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE_S) as answer:
        body: bytes = answer.read()
        return body


def samples_of(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Each sample of the text form, by name and labels."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}


@dataclass(frozen=True, slots=True)
class Generator:
    """A loadgen that runs, and where its metrics are."""

    process: subprocess.Popen[str]
    address: str

    @property
    def url(self) -> str:
        return f"http://{self.address}/metrics"

    def interrupt(self) -> tuple[int, str]:
        """Exit code and stdout after Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        text, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, text


@contextlib.contextmanager
def generating(*arguments: str) -> Iterator[Generator]:
    """Loadgen with metrics on a free port, which it tells; killed after the block where it still runs."""
    with start_script("loadgen", *arguments, "--metrics-port", "0", "--no-resources") as process:
        try:
            assert process.stderr is not None
            told = re.fullmatch(r"loadgen: metrics at http://(\S+)/metrics\n", process.stderr.readline())
            assert told is not None
            yield Generator(process, told[1])
        finally:
            process.kill()


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A Prometheus that runs."""

    url: str

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The series of an instant query; fails where Prometheus does not accept it."""
        try:
            answer = json.loads(fetch(f"{self.url}/api/v1/query?{urlencode({'query': query})}"))
        except urllib.error.HTTPError as error:
            pytest.fail(f"{query}: {error.read().decode()}")
        series: list[dict[str, Any]] = answer["data"]["result"]
        return series

    def value(self, query: str) -> float | None:
        """The value of the one series; None where there is none yet."""
        series = self.ask(query)
        assert len(series) <= 1, series
        return float(series[0]["value"][1]) if series else None

    def comes_to(self, query: str, value: float) -> bool:
        """Whether the query has that value before the deadline."""
        return eventually(lambda: self.value(query) == value, poll_s=0.1)


@contextlib.contextmanager
def prometheus(directory: Path, targets: Mapping[str, str], *flags: str) -> Iterator[Prometheus]:
    """A Prometheus on a free port that scrapes addresses, by job; skips the test where it is not installed."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed: Debian's package prometheus has it (.ci/run installs it)")
    directory.mkdir()
    jobs = [{"job_name": job, "static_configs": [{"targets": [address]}]} for job, address in targets.items()]
    config = {"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"}, "scrape_configs": jobs}
    (directory / "prometheus.yml").write_text(json.dumps(config))  # YAML has JSON in it
    address = f"{HOST}:{free_port(HOST)}"
    with (
        (directory / "log").open("w") as log,
        subprocess.Popen(
            [
                program,
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address={address}",
                *flags,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            ready = eventually(lambda: process.poll() is not None or _answers(f"http://{address}/-/ready"))
            assert ready, (directory / "log").read_text()
            assert process.poll() is None, (directory / "log").read_text()
            yield Prometheus(f"http://{address}")
        finally:
            process.kill()


def _answers(url: str) -> bool:
    try:
        fetch(url)
    except OSError:
        return False
    return True
