"""What a comparison prints: each profile's block and the table, the JSON object, or CSV rows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from loadgen.explain.runs import limited_by
from loadgen.redaction import Redaction
from loadgen.render import text
from loadgen.render.document import environment_data, plan_data, run_data
from loadgen.render.hgrm import hgrm_lines
from loadgen.store import CSV_HEADER, csv_rows, extra_columns
from rig.columns import aligned
from rig.diff.against import against_first, against_notes, against_rows
from rig.diff.fail_if import FailIf, judge_all
from rig.diff.figures import Compared
from rig.diff.words import compared_data
from rig.difference import difference
from rig.measured import Measured
from rig.names import distinct
from servers.catalog import Instance
from servers.profile import Profile, limits_line, spoken
from servers.runtimes import there

SCHEMA: Final = "rig/1"

_FIGURES: Final = ("wall", "p50")


def block_heading(instance: Instance) -> str:
    """The line before a profile's runs, as the documents print it."""
    return f"##### server args: {instance.args}".rstrip()


def blocks(measured: Sequence[Measured], *, quiet: bool = False) -> Iterator[str]:
    """Each profile's block: heading and runs."""
    for entry in measured:
        yield f"{entry.instance.spec} ({entry.instance.profile.server}; {entry.instance.limits})"
        yield block_heading(entry.instance)
        for run in entry.runs:
            yield from text.run_lines(entry.plan, run, quiet=quiet, resources=True)
        if not quiet:
            yield from text.all_runs_lines(entry.findings)
        yield from text.objective_lines(entry.plan, entry.runs)
        yield ""


def table(measured: Sequence[Measured]) -> Iterator[str]:
    """One row a profile: medians over its runs, their difference to the first profile's, what was found to limit it."""
    base = measured[0]
    over = base.plan.over_ms
    rows = [["profile", "median wall_ms", "median p50_ms", f"median over{over}ms", "limited by"]]
    for entry in measured:
        figures = [
            _with_difference(entry.median_ms(figure), base.median_ms(figure), entry is base) for figure in _FIGURES
        ]
        late = _with_difference(entry.median_late, base.median_late, entry is base)
        rows.append([entry.instance.spec, *figures, late, limited_by(entry.findings)])
    yield from aligned(rows)


def against(measured: Sequence[Measured], compared: Sequence[Compared]) -> Iterator[str]:
    """One row a profile but the first: each figure's change, p and verdict. Below, what is to be known beside them."""
    if compared:
        base = measured[0].instance.spec
        yield from aligned(against_rows(base, compared))
        yield from against_notes(base, compared)


def sentences(measured: Sequence[Measured]) -> Iterator[str]:
    """One sentence for each profile but the first: what it changed against the first."""
    for entry in measured[1:]:
        yield difference(measured[0], entry)


def profiles_data(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """Each profile with its plan and runs, as in the JSON object of a comparison. Secrets are left out."""
    data = [
        {
            "profile": entry.instance.spec,
            "server": entry.instance.profile.server,
            "args": entry.instance.args,
            "limits": entry.instance.limits,
            "limited_by": limited_by(entry.findings),
            "concurrency_limit": entry.instance.concurrency_limit,
            "limit_known": entry.instance.limit_known,
            "plan": plan_data(entry.plan),
            "runs": [run_data(run, entry.plan) for run in entry.runs],
        }
        for entry in measured
    ]
    redacted: list[dict[str, Any]] = Redaction(measured[0].plan.redact).data(data)
    return redacted


def comparisons_data(measured: Sequence[Measured], fail_if: Sequence[FailIf] = ()) -> list[dict[str, Any]]:
    """Each profile but the first against the first, judged by these bounds. Secrets are left out."""
    data = [
        _difference_data(measured[0], entry, compared, fail_if)
        for entry, compared in zip(measured[1:], against_first(measured), strict=True)
    ]
    redacted: list[dict[str, Any]] = Redaction(measured[0].plan.redact).data(data)
    return redacted


def comparison_data(measured: Sequence[Measured], fail_if: Sequence[FailIf] = ()) -> dict[str, Any]:
    """The JSON object of a comparison, judged by these bounds. Secrets are left out."""
    return {
        "schema": SCHEMA,
        "environment": environment_data(),
        "profiles": profiles_data(measured),
        "comparisons": comparisons_data(measured, fail_if),
    }


def names_in_files(measured: Sequence[Measured]) -> list[str]:
    """What the profiles are called in files, secrets left out; one that was measured twice has two names."""
    return distinct(Redaction(entry.plan.redact).text(entry.instance.spec) for entry in measured)


def rows_header(measured: Sequence[Measured]) -> tuple[str, ...]:
    """The names of what `rows` gives."""
    return ("profile", *CSV_HEADER, *extra_columns(measured[0].plan))


def rows(measured: Sequence[Measured]) -> Iterator[tuple[Any, ...]]:
    """One row a request, in the order of `rows_header`."""
    for spec, entry in zip(names_in_files(measured), measured, strict=True):
        for run in entry.runs:
            for row in csv_rows(run.number, run.samples, extra=extra_columns(entry.plan)):
                yield (spec, *row)


def percentile_blocks(measured: Sequence[Measured]) -> Iterator[str]:
    """The .hgrm block of each run."""
    for entry in measured:
        for run in entry.runs:
            yield from hgrm_lines(f"{entry.instance.spec} {text.run_heading(entry.plan, run)}", run)


def profile_list(profiles: Iterable[Profile]) -> Iterator[str]:
    """Each profile with its server, what limits it by default, what it lacks on this machine, and its knobs."""
    for profile in profiles:
        defaults = {knob.name: knob.default for knob in profile.knobs}
        yield f"{profile.name}  ({profile.server})"
        yield f"    {limits_line(profile.limits(defaults))}"
        yield from _runtime_missing(profile)
        yield from aligned(
            [
                [f"    {knob.name}={spoken(knob.default)}", f"{knob.meaning}; {knob.kind.accepts}"]
                for knob in profile.knobs
            ]
        )
        yield ""


def _runtime_missing(profile: Profile) -> Iterator[str]:
    tools = () if profile.build is None else profile.build.tools_needed
    for runtime in (profile.runtime, *tools):
        if runtime is not None:
            found = runtime.seen()
            if not runtime.serves(found):
                yield f"    needs {runtime.needs}: {there(found)}; to install it: {runtime.install}"


def _difference_data(base: Measured, entry: Measured, compared: Compared, fail_if: Sequence[FailIf]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "base": base.instance.spec,
        "profile": entry.instance.spec,
        "sentence": difference(base, entry),
    }
    for figure in _FIGURES:
        data[f"median_{figure}_ms"] = _pair(base.median_ms(figure), entry.median_ms(figure))
    data["median_over"] = _pair(base.median_late, entry.median_late)
    data |= compared_data(compared, "base", "profile")
    data["fail_if"] = [judged.data() for judged in judge_all([compared], fail_if)]
    return data


def _pair(base: float | None, value: float | None) -> dict[str, float | None]:
    difference = None if base is None or value is None else round(value - base, 3)
    return {
        "base": None if base is None else round(base, 3),
        "profile": None if value is None else round(value, 3),
        "difference": difference,
    }


def _with_difference(value: float | None, base: float | None, is_base: bool) -> str:
    """A median in whole units, and how far from the base's, as those whole units differ."""
    if value is None:
        return "n/a"
    shown = int(value + 0.5)
    if is_base or base is None:
        return str(shown)
    return f"{shown} ({shown - int(base + 0.5):+d})"
