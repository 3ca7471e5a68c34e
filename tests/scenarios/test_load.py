"""Scenario files: those that come along, and what is not accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadgen.kernel import available_cpus
from scenarios.errors import ScenarioError
from scenarios.load import load, load_file, names
from scenarios.scenario import Ask, Load, Tasks, ThreadCost

GOOD = """
title = "A title"
question = "What?"
source = "D1"
[load]
path = "/sleep?ms=100"
n = 10
[[profiles]]
spec = "async"
"""

ASKED_FOR = {
    "sleep-400", "sleep-400-python", "accept-queue", "await-or-spin", "spin-on-threads", "who-serves-me",
    "small-json", "downstream-pool", "executors-wait", "executors-compute", "ten-thousand-sleepers", "thread-cost",
}  # fmt: skip


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def refusal(folder: Path, text: str) -> str:
    """What is said of a file with a mistake: one line, with its name."""
    with pytest.raises(ScenarioError) as caught:
        load_file(written(folder, text))
    told = str(caught.value)
    assert "mine.toml" in told
    assert "\n" not in told
    return told


def test_scenarios_of_the_documents_are_there() -> None:
    assert set(names()) >= ASKED_FOR


@pytest.mark.parametrize("name", names())
def test_each_loads_with_question_steps_and_entries(name: str) -> None:
    scenario = load(name)
    assert scenario.name == name
    assert scenario.question.endswith((".", "?"))
    assert scenario.steps
    assert all(step.entries for step in scenario.steps)


def test_published_figures_are_those_of_the_document() -> None:
    (step,) = load("sleep-400").steps
    assert [(entry.spec, entry.published.over) for entry in step.entries] == [
        ("spring", (200, 200, 200, 200, 200)),
        ("spring:virtual=true", (57, 0, 0, 14, 0)),
        ("spring:threads=400", (15, 6, 0, 39, 0)),
        ("spring:virtual=true,accept_count=1000", (0, 0, 0, 0, 0)),
    ]


def test_same_load_on_the_same_server_is_predicted_the_same_in_each_scenario() -> None:
    predicted: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for name in names():
        for step in load(name).steps:
            for entry in step.entries:
                predicted.setdefault((step.title, entry.spec), set()).add(tuple(sorted(entry.predicted.causes)))
    assert {key: causes for key, causes in predicted.items() if len(causes) > 1} == {}


def test_lists_and_cpus_make_a_load_each(tmp_path: Path) -> None:
    text = GOOD.replace("n = 10", 'n = ["cpus", "2 * cpus", 1000]\nconcurrency = [1, "cpus"]')
    cpus = available_cpus()
    loads = [step for step in load_file(written(tmp_path, text)).steps if isinstance(step, Load)]
    assert [(step.n, step.concurrency) for step in loads] == [
        (n, concurrency) for n in (cpus, 2 * cpus, 1000) for concurrency in dict.fromkeys((1, cpus))
    ]


def test_steps_stand_in_the_order_of_the_file_and_share_the_profiles(tmp_path: Path) -> None:
    text = GOOD + '[thread_cost]\ncounts = 10\non = { kind = "threads" }\n'
    text += '[tasks]\nwork = "sleep:1ms"\ntasks = 5\non = { executor = "asyncio" }\n[ask]\npath = "/thread"\n'
    steps = load_file(written(tmp_path, text)).steps
    assert [type(step) for step in steps] == [Load, ThreadCost, Tasks, Ask]
    assert steps[0].entries == steps[3].entries


@pytest.mark.parametrize(
    ("change", "to", "says"),
    [
        ('"D1"', '"D1"\ncuation = "x"', "no key 'cuation' is accepted; keys: title, question, source, caution"),
        ('title = "A title"', "", "title is missing: a text"),
        ('"What?"', "7", "question is a text; not 7"),
        ('"D1"', '" "', "source is a text; not ' '"),
        ('"D1"', '"D1"\ncaution = []', "caution is a text; not []"),
        ("/sleep", "sleep", "load.path is a path that begins with /, percent-encoded; not 'sleep?ms=100'"),
        ('"/sleep?ms=100"', '"/a b"', "load.path is a path"),
        ("n = 10", "", "n is missing in load: a whole number from 1 to 1000000, 'cpus' or '2 * cpus'"),
        (
            "n = 10",
            "n = 0",
            "load.n is a whole number from 1 to 1000000, 'cpus' or '2 * cpus', or a list of these; not 0",
        ),
        ("n = 10", "n = true", "load.n is a whole number"),
        ("n = 10", "n = []", "load.n is a whole number"),
        ("n = 10", 'n = "cpus * 2"', "load.n is a whole number"),
        ("n = 10", "n = 10\nconcurrency = 11", "load.concurrency is at most n, which is 10; not 11"),
        ("n = 10", "n = 10\nruns = 0", "load.runs is a whole number from 1 to 1000; not 0"),
        ("n = 10", "n = 10\nwarmup = -1", "load.warmup is a whole number from 0 to 1000; not -1"),
        ("n = 10", "n = 10\nover = 1500", "load.over is a duration of whole milliseconds"),
        ("n = 10", 'n = 10\nover = "0.5ms"', "load.over is a duration of whole milliseconds"),
        ("n = 10", 'n = 10\ntimeout = "long"', "load.timeout is a duration, as in '60s' or '500ms'; not 'long'"),
        ("n = 10", "n = 10\nkeepalive = 1", "load.keepalive is true or false; not 1"),
        ("n = 10", "n = 10\nservice_ms = nan", "load.service_ms is a number from 0; not nan"),
        ("n = 10", "n = 10\nlimit = 0", "load.limit is a whole number"),
        ("n = 10", 'n = 10\nshow = ["all"]', "load.show is a list of resent, server-timing; not ['all']"),
        ("n = 10", "n = 10\nduration = 3", "no key 'duration' is accepted in load; keys: path, n, concurrency"),
        ("[load]\n", "[[load]]\nx = 1\n[[load]]\n", "in load[1]"),
        ("[load]", "[laod]", "no key 'laod' is accepted; keys:"),
        ("[[profiles]]\nspec", "[profiles]\nspeck", "spec is missing in profiles: a text"),
        ('"async"', '"async:wokers=2"', "profiles[1].spec is a profile's spec (profile async has no knob 'wokers'"),
        ('"async"', '"async"\npredicted = 1', "profiles[1].predicted is a table; not 1"),
        ('"async"', '"async"\npredicted = { waves = 0 }', "profiles[1].predicted.waves is a whole number from 1"),
        ('"async"', '"async"\npredicted = { wall_ms = "1" }', "profiles[1].predicted.wall_ms is a number from 0"),
        ('"async"', '"async"\npredicted = { over = -1 }', "profiles[1].predicted.over is a whole number from 0"),
        ('"async"', '"async"\npredicted = { limit = 1.5 }', "profiles[1].predicted.limit is a whole number"),
        ('"async"', '"async"\npredicted = { cause = "late" }', "profiles[1].predicted.cause is a cause or a list of"),
        ('"async"', '"async"\npredicted = { cause = [] }', "profiles[1].predicted.cause is a cause or a list of"),
        ('"async"', '"async"\npredicted = { answer = 1 }', "profiles[1].predicted.answer is a text; not 1"),
        ('"async"', '"async"\npredicted = { late = 1 }', "no key 'late' is accepted in profiles[1].predicted; keys:"),
        ('"async"', '"async"\npublished = { wall_ms = ["1"] }', "profiles[1].published.wall_ms is a number from 0, or"),
        ('"async"', '"async"\npublished = { note = 1 }', "profiles[1].published.note is a text; not 1"),
        (
            '"async"',
            '"async"\npublished = { x = 1 }',
            "no key 'x' is accepted in profiles[1].published; keys: wall_ms,",
        ),
        ('[[profiles]]\nspec = "async"', "", "load.profiles is one or more [[profiles]], here or for all steps"),
        ("[load]\n", "[load\n", "mine.toml is no TOML: "),
    ],
)
def test_mistakes_are_one_line_with_file_and_key(tmp_path: Path, change: str, to: str, says: str) -> None:
    assert change in GOOD
    assert says in refusal(tmp_path, GOOD.replace(change, to))


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("[ask]\nat_once = 3", "path is missing in ask"),
        ('[ask]\npath = "/thread"\nat_once = 0', "ask.at_once is a whole number from 1 to 100; not 0"),
        ('[ask]\npath = "/thread"\nn = 3', "no key 'n' is accepted in ask; keys: path, at_once, profiles"),
        ("[tasks]\ntasks = 3", "work is missing in tasks: a text"),
        ('[tasks]\nwork = "sleep:1ms"', "tasks is missing in tasks"),
        ('[tasks]\nwork = "sleep:1ms"\ntasks = 1', "tasks.on is one or more tables with the key executor; not []"),
        ('[tasks]\nwork = "sleep:1ms"\ntasks = 1\non = "asyncio"', "tasks.on is a table, or a list of tables; not"),
        ('[thread_cost]\non = { kind = "threads" }', "counts is missing in thread_cost"),
        ("[thread_cost]\ncounts = 10\nrounds = 0", "thread_cost.rounds is a whole number from 1 to 100; not 0"),
    ],
)
def test_mistakes_in_other_kinds_of_step(tmp_path: Path, step: str, says: str) -> None:
    assert says in refusal(tmp_path, f"{GOOD}{step}\n")


def test_file_without_steps_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no step: there must be one or more of load, ask, tasks, thread_cost"):
        load_file(written(tmp_path, 'title = "t"\nquestion = "q?"\nsource = "D1"\n'))
    with pytest.raises(ScenarioError, match=r"nowhere\.toml: No such file or directory"):
        load("nowhere.toml")
    with pytest.raises(ScenarioError, match=r"no scenario 'nowhere'; scenarios: accept-queue, "):
        load("nowhere")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(ScenarioError, match=r"is not text in UTF-8"):
        load_file(tmp_path / "latin.toml")


def test_profile_that_is_not_here_may_be_of_a_rig_toml(tmp_path: Path) -> None:
    (step,) = load_file(written(tmp_path, GOOD.replace('"async"', '"elsewhere:threads=3"'))).steps
    assert step.entries[0].spec == "elsewhere:threads=3"
