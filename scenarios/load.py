"""TOML -> Scenario. Each kind of step has a reader here; every mistake is one line that names file and key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scenarios.errors import ScenarioError
from scenarios.kinds import (
    CAUSE,
    COUNT,
    COUNTS,
    DURATION,
    FLAG,
    NUMBER,
    NUMBERS,
    PATH,
    TEXT,
    WHOLE_MS,
    Table,
    any_of,
    whole,
)
from scenarios.scenario import Ask, Entry, Load, Predicted, Published, Scenario, Step, Tasks, ThreadCost
from servers.catalog import PROFILES, parse_spec
from servers.errors import ServersError
from servers.toml import read_toml

_FOLDER: Final = Path(__file__).parent

Entries = tuple[Entry, ...]


def names() -> list[str]:
    """The names of the scenarios that come with loadrig."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load(name: str) -> Scenario:
    """The scenario of that name, or in the file `name` where that ends in .toml.

    Raises:
        ScenarioError: there is none, or its file is not accepted.
    """
    if name.endswith(".toml"):
        return load_file(Path(name))
    if name not in names():
        raise ScenarioError(f"no scenario {name!r}; scenarios: {', '.join(names())}; or a FILE.toml")
    return load_file(_FOLDER / f"{name}.toml")


def load_file(path: Path) -> Scenario:
    """The scenario in a file.

    Raises:
        ScenarioError: it cannot be read, is no TOML, or holds what is not accepted.
    """
    try:
        content = read_toml(path)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}; name a file that can be read, or one of: {_listed()}") from None
    except ValueError as error:
        raise ScenarioError(f"{path} {error}") from None
    return _scenario(path, content)


def _listed() -> str:
    return ", ".join(names())


def _scenario(path: Path, content: dict[str, Any]) -> Scenario:
    top = Table(path.name, "", content)
    title, question, source = (top.needed(key, TEXT) for key in ("title", "question", "source"))
    caution = top.given("caution", TEXT, "")
    shared = _entries(top, "profiles", "spec")
    # In the order of the file, which is the order in which TOML's tables are kept.
    tables = {key: top.tables(key) for key in sorted(_KINDS, key=lambda key: _place(top, key))}
    top.close()
    steps = tuple(step for key, each in tables.items() for table in each for step in _KINDS[key](table, shared))
    if not steps:
        raise ScenarioError(f"{path.name}: no step: there must be one or more of {', '.join(_KINDS)}")
    return Scenario(path.stem, title, question, source, steps, caution)


def _place(top: Table, key: str) -> int:
    keys = top.keys()
    return keys.index(key) if key in keys else len(keys)


def _loads(table: Table, shared: Entries) -> Iterator[Load]:
    """A load for each combination of `n` and `concurrency`."""
    path = table.needed("path", PATH)
    sizes = table.needed("n", COUNTS)
    concurrencies = table.get("concurrency", COUNTS, None)
    settings: dict[str, Any] = {
        "runs": table.given("runs", whole(1, 1000), 5),
        "warmup": table.given("warmup", whole(0, 1000), 0),
        "over_ms": table.given("over", WHOLE_MS, 1500),
        "timeout_s": table.given("timeout", DURATION, 60.0),
        "keepalive": table.given("keepalive", FLAG, True),
        "service_ms": table.get("service_ms", NUMBER, None),
        "limit": table.get("limit", COUNT, None),
    }
    shown = table.given("show", any_of("resent", "server-timing"), ())
    settings |= {"shows_resent": "resent" in shown, "server_timing": "server-timing" in shown}
    entries = _profiles(table, shared)
    table.close()
    for n in sizes:
        for concurrency in concurrencies or (n,):
            if concurrency > n:
                raise table.refusal("concurrency", f"at most n, which is {n}", concurrency)
            yield Load(entries, path, n, concurrency, **settings)


def _ask(table: Table, shared: Entries) -> Iterator[Ask]:
    path, at_once = table.needed("path", PATH), table.given("at_once", whole(1, 100), 1)
    entries = _profiles(table, shared)
    table.close()
    yield Ask(entries, path, at_once)


def _tasks(table: Table, _: Entries) -> Iterator[Tasks]:
    work, tasks = table.needed("work", TEXT), table.needed("tasks", COUNT)
    warmup, runs = table.given("warmup", whole(0, 1000), 3), table.given("runs", whole(1, 1000), 7)
    service_ms = table.get("service_ms", NUMBER, None)
    entries = _needed_entries(table, "on", "executor")
    table.close()
    yield Tasks(entries, work, tasks, warmup, runs, service_ms)


def _thread_cost(table: Table, _: Entries) -> Iterator[ThreadCost]:
    counts, rounds = table.needed("counts", COUNTS), table.given("rounds", whole(1, 100), 3)
    entries = _needed_entries(table, "on", "kind")
    table.close()
    yield ThreadCost(entries, counts, rounds)


_KINDS: Final[Mapping[str, Callable[[Table, Entries], Iterator[Step]]]] = {
    "load": _loads,
    "ask": _ask,
    "tasks": _tasks,
    "thread_cost": _thread_cost,
}


def _profiles(table: Table, shared: Entries) -> Entries:
    """The step's own profiles, or else those of all steps."""
    entries = _entries(table, "profiles", "spec") or shared
    if not entries:
        raise table.refusal("profiles", "one or more [[profiles]], here or for all steps", [])
    return entries


def _needed_entries(table: Table, key: str, name: str) -> Entries:
    entries = _entries(table, key, name)
    if not entries:
        raise table.refusal(key, f"one or more tables with the key {name}", [])
    return entries


def _entries(table: Table, key: str, name: str) -> Entries:
    entries = []
    for each in table.tables(key):
        spec = each.needed(name, TEXT)
        if name == "spec":
            _check_spec(each, spec)
        entries.append(Entry(spec, _predicted(each.table("predicted")), _published(each.table("published"))))
        each.close()
    return tuple(entries)


def _check_spec(table: Table, spec: str) -> None:
    """Checks knobs; a profile that is none of these may be one of a rig.toml, and is looked for before it is run."""
    if spec.partition(":")[0] not in PROFILES:
        return
    try:
        parse_spec(spec)
    except ServersError as error:
        raise table.refusal("spec", f"a profile's spec ({error})", spec) from None


def _predicted(table: Table | None) -> Predicted:
    if table is None:
        return Predicted()
    predicted = Predicted(
        limit=table.get("limit", COUNT, None),
        waves=table.get("waves", whole(1), None),
        wall_ms=table.get("wall_ms", NUMBER, None),
        over=table.get("over", whole(0), None),
        causes=table.given("cause", CAUSE, ()),
        answer=table.get("answer", TEXT, None),
        meaning=table.given("meaning", TEXT, ""),
    )
    table.close()
    return predicted


def _published(table: Table | None) -> Published:
    if table is None:
        return Published()
    published = Published(
        wall_ms=table.given("wall_ms", NUMBERS, ()),
        over=table.given("over", NUMBERS, ()),
        p50_ms=table.given("p50_ms", NUMBERS, ()),
        rps=table.given("rps", NUMBERS, ()),
        create_us=table.given("create_us", NUMBERS, ()),
        address_mb=table.given("address_mb", NUMBERS, ()),
        note=table.given("note", TEXT, ""),
    )
    table.close()
    return published
