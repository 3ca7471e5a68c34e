"""Pictures of runs: what is drawn, and where it goes in the page. No server is started."""

from __future__ import annotations

import numpy as np
import pytest

from loadgen.explain import CAUSES, Evidence
from loadgen.explain.reading import Reading
from loadgen.samples import MISSING
from tests.truth.cases import Draw
from tests.truth.drawing import LINES, WIDTH, drawing
from tests.truth.model import NEVER, Setup, simulate
from tests.truth.observe import observed
from tests.truth.pictures import OUTPUTS, PAGE, SCENES, filled, keys_of
from tests.truth.scenarios import KINDS


def _seen(setup: Setup) -> Evidence:
    return observed(simulate(setup, np.random.default_rng(1)), "local")


def test_a_run_is_drawn_as_it_went() -> None:
    service = np.full(6, 0.2)
    assert drawing(_seen(Setup(6, 6, service, limit=2)), width=44) == [
        "1 |=============                           |",
        "2 |=============                           |",
        "3 |-------------==============             |",
        "4 |-------------==============             |",
        "5 |---------------------------=============|",
        "6 |---------------------------=============|",
        "  ++------------+------------+------------++",
        "   0 ms         200          400         600",
    ]


def test_what_was_given_up_or_turned_away_or_came_late_has_its_mark() -> None:
    given_up = drawing(_seen(Setup(3, 3, np.full(3, 0.4), limit=1, timeout_s=0.5)))
    assert [line.rstrip(" |")[-1] for line in given_up[:3]] == ["=", "x", "x"]
    turned_away = drawing(_seen(Setup(3, 3, np.full(3, 0.4), limit=1, room=0)))
    assert sorted(line.rstrip(" |")[-1] for line in turned_away[:3]) == ["!", "!", "="]
    dropped = drawing(_seen(Setup(20, 20, np.full(20, 0.5), backlog=5, accept_s=1e-3)))
    assert dropped[0].split("|")[1][0] == "="
    assert dropped[LINES - 1].split("|")[1][:20] == "." * 20
    never = drawing(_seen(Setup(20, 20, np.full(20, 0.5), backlog=5, accepts_until_s=0.0, timeout_s=2.5)))
    assert set(never[LINES - 1].split("|")[1]) == {".", "x"}


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=lambda kind: kind.__name__)
def test_any_run_stays_within_its_frame(kind) -> None:  # type: ignore[no-untyped-def]
    for seed in range(3):
        case = kind(Draw(seed, 300))
        lines = drawing(case.evidence)
        requests = len(case.evidence.samples)
        assert len(lines) == min(LINES, requests) + 2
        assert all(len(line) <= WIDTH for line in lines)
        for line in lines[:-2]:
            _, bar, rest = line.split("|")
            assert len(line) == WIDTH
            assert not rest
            assert set(bar) <= set(" .-=x!")
            assert bar.strip()
            assert " " not in bar.strip()  # from its beginning to its end, without a gap
        assert lines[-3].split("|")[0].strip().split("-")[-1] == str(requests)


def test_a_bar_ends_where_the_request_ended() -> None:
    evidence = _seen(Setup(10, 10, np.linspace(0.1, 1.0, 10)))
    lengths = [len(line.split("|")[1].rstrip()) for line in drawing(evidence)[:10]]
    cells = WIDTH - 5
    assert lengths == pytest.approx([cells * part / 10 for part in range(1, 11)], abs=1)
    assert NEVER not in Reading(evidence).arrival_ns


def test_a_run_of_which_nothing_began_has_no_picture() -> None:
    evidence = _seen(Setup(2, 2, np.full(2, 0.1)))
    evidence.samples.begun[:] = MISSING
    assert drawing(evidence) == []


def test_blocks_are_filled_between_their_markers_alone() -> None:
    page = "a\n<!-- picture: x -->\nold\n<!-- /picture -->\nb\n<!-- why: x -->\nkept\n<!-- /why -->\n"
    assert keys_of(page) == [("picture", "x"), ("why", "x")]
    expected = page.replace("old", "new \\1 line")
    assert filled(page, {("picture", "x"): "new \\1 line\n"}) == expected
    assert filled(expected, {}) == expected


@pytest.mark.parametrize("page", ["<!-- picture: x -->\n", "<!-- why: x -->\n<!-- /picture -->", "<!-- /why -->"])
def test_a_marker_without_its_other_one_is_an_error(page: str) -> None:
    with pytest.raises(ValueError, match="markers"):
        keys_of(page)


def test_the_page_has_a_section_and_a_picture_for_every_cause_and_each_block_is_made() -> None:
    page = PAGE.read_text()
    keys = keys_of(page)
    assert [name for kind, name in keys if kind == "picture" and name in CAUSES] == list(CAUSES)
    assert all(f"\n## {cause}\n" in page for cause in CAUSES)
    assert all(name in (OUTPUTS if kind == "output" else {*SCENES, "unexplained"}) for kind, name in keys)
    assert {name for kind, name in keys} == {*SCENES, *OUTPUTS, "unexplained"}
    assert all(f"{kind}: {name} -->\n<!--" not in page for kind, name in keys)
