"""The page of experiments, from outputs that are made up."""

from __future__ import annotations

from bench.experiments import page, section, shortened
from scenarios.load import load

OUTPUT = """\
===== A title (sleep-400, D1)
A question?

spring (Spring Boot on Tomcat; 200 threads)
##### server args:
-- N=4 run 1
requests=4
why: one.
-- N=4 run 2
requests=4
-- N=4 run 3
requests=4
why: three.
-- N=4 run 4
requests=4
why: in each of 4 runs: one.

profile  verdict
spring   held

1 of 1 prediction held""".splitlines()


def test_of_each_block_the_first_two_runs() -> None:
    lines = [*shortened(OUTPUT)]
    assert [line for line in lines if line.startswith("--")] == ["-- N=4 run 1", "-- N=4 run 2"]
    assert lines[9:12] == ["requests=4", "...", "why: in each of 4 runs: one."]
    assert lines[-1] == OUTPUT[-1]


def test_section_has_question_published_output_and_verdict() -> None:
    made = section(load("sleep-400"), OUTPUT, ["rig: left out: node: not here"], "Measured then.")
    assert made.startswith("## 400 requests at once against a capped server (D1)\n\nA handler sleeps 1 s")
    assert "- published of `spring`: 2,088 to 2,209 ms, 200 late\n" in made
    assert "Measured then.\n\n```\n$ rig run sleep-400\nspring (Spring Boot" in made
    assert "=====" not in made
    assert made.endswith("- left out: node: not here\n\n**1 of 1 prediction held.**\n")


def test_page_renews_a_section_and_keeps_the_others() -> None:
    both = page("", {"sleep-400": "old\n", "small-json": "kept\n", "no-such": "gone\n"})
    renewed = page(both, {"sleep-400": "new\n"})
    assert "<!-- scenario: sleep-400 -->\nnew\n<!-- /scenario -->\n" in renewed
    assert "<!-- scenario: small-json -->\nkept\n<!-- /scenario -->\n" in renewed
    assert "old" not in renewed.partition("-->")[2]
    assert "no-such" not in both
    assert page(renewed, {}) == renewed
