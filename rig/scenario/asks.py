"""A few requests at each entry's server, whose answers are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from rig.render import block_heading
from rig.scenario.judge import Verdict
from rig.scenario.met import met_words
from rig.scenario.outcome import NONE, Row, spoken_published
from scenarios.scenario import Ask, Entry
from servers.catalog import Instance
from servers.process import RunningServer

_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Answers:
    """What one server answered."""

    instance: Instance
    bodies: tuple[str, ...]
    """One a request; a request that failed has its error, in brackets."""
    failed: int


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """An ask as far as it was carried out. See `Outcome`."""

    step: Ask
    answers: Sequence[Answers]
    interrupted: bool

    @property
    def measured(self) -> bool:
        """See `Outcome`."""
        return any(len(answer.bodies) > answer.failed for answer in self.answers)

    def lines(self, *, quiet: bool) -> Iterator[str]:
        """See `Outcome`."""
        for answer in self.answers:
            yield f"{answer.instance.spec} ({answer.instance.profile.server}; {answer.instance.limits})"
            yield block_heading(answer.instance)
            for body, times in Counter(answer.bodies).items():
                yield body if times == 1 else f"{body} ({times} times)"
            yield ""

    def rows(self) -> Iterator[Row]:
        """See `Outcome`."""
        for entry, answer in zip(self.step.entries, self.answers, strict=False):
            yield _row(self.step, entry, answer)

    def data(self) -> dict[str, Any]:
        """See `Outcome`."""
        profiles = [{"profile": answer.instance.spec, "answers": list(answer.bodies)} for answer in self.answers]
        return {"kind": "ask", "title": self.step.title, "path": self.step.path, "profiles": profiles}


def carry_out_ask(step: Ask, servers: Sequence[RunningServer]) -> AskOutcome:
    """Asks each of these servers, which are ready, one an entry."""
    answers: list[Answers] = []
    pool = ThreadPoolExecutor(step.at_once)
    try:
        for server in servers:
            answers.append(_asked(server, step, pool))
    except KeyboardInterrupt:
        return AskOutcome(step, answers, interrupted=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # what still waits for an answer ends with its server
    return AskOutcome(step, answers, interrupted=False)


def _asked(server: RunningServer, step: Ask, pool: ThreadPoolExecutor) -> Answers:
    def ask(_: int) -> tuple[str, bool]:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", step.path)
            response = connection.getresponse()
            body = response.read(10_000).decode("utf-8", "replace").strip()
            return (body, False) if response.status < 400 else (f"({response.status}: {body})", True)
        except (OSError, HTTPException) as error:
            return f"({error})", True
        finally:
            connection.close()

    asked = list(pool.map(ask, range(step.at_once)))
    return Answers(server.instance, tuple(body for body, _ in asked), sum(failed for _, failed in asked))


def _row(step: Ask, entry: Entry, answer: Answers) -> Row:
    wanted = entry.predicted.answer
    predicted = NONE if wanted is None else entry.predicted.meaning or f"an answer with {wanted!r}"
    met, told = met_words(answer.bodies)
    verdict, sentence = Verdict.UNPREDICTED, ""
    if answer.failed:
        verdict, sentence = Verdict.UNMEASURED, f"{answer.failed} of {len(answer.bodies)} requests failed"
    elif wanted is not None:
        other = next((body for body in answer.bodies if wanted not in body), None)
        verdict = Verdict.HELD if other is None else Verdict.FAILED
        sentence = "as predicted" if other is None else f"predicted {predicted}, but {wanted!r} is not in {other}"
    note = f"published: {entry.published.note}" if entry.published.note else ""
    return Row(
        step.title,
        entry.spec,
        spoken_published(entry.published),
        predicted,
        met,
        verdict,
        "; ".join(filter(None, (sentence, told, note))),
    )
