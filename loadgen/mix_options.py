"""The arguments and options that say which requests are sent, as given, and the targets that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadgen.errors import UsageError
from loadgen.options import RequestOptions
from loadgen.plan import DEFAULT_URL, Header, Share, Target
from loadgen.target_file import read_targets


def read_mix(urls: Sequence[str], weights: str | None, file: Path | None, request: RequestOptions) -> tuple[Share, ...]:
    """The targets that are asked for, one or more: URLs with weights, or those of a file.

    Raises:
        UsageError: one of them is not accepted, or two do not go together.
    """
    if file is not None:
        return _from_file(urls, weights, file, request)
    targets = [request.target(url) for url in urls or [DEFAULT_URL]]
    return tuple(Share(target, weight) for target, weight in zip(targets, _weights(weights, len(targets)), strict=True))


def _weights(text: str | None, count: int) -> list[int]:
    if text is None:
        return [1] * count
    words = [word.strip() for word in text.split(",")]
    if len(words) != count or not all(word.isascii() and word.isdigit() and len(word) < 9 for word in words):
        raise UsageError(
            f"--weights {text!r} is not accepted: write a whole number for each URL, here {count}, as in 3,1 for two"
        )
    return [int(word) for word in words]


def _from_file(urls: Sequence[str], weights: str | None, file: Path, request: RequestOptions) -> tuple[Share, ...]:
    if len(urls) > 1:
        raise UsageError("--targets and several URLs are not accepted together: one URL says where its paths are")
    if weights is not None:
        raise UsageError("--weights belongs to URLs: in a file of targets each line has its own")
    if request.body is not None or request.body_file is not None:
        raise UsageError("a body and --targets are not accepted together: a line of JSON has its own")
    common = request.target(urls[0] if urls else DEFAULT_URL)

    def make_target(url: str, method: str | None, headers: tuple[Header, ...], body: bytes) -> Target:
        """A line's own headers come in place of those of the same name from the options."""
        named = {name.lower() for name, _ in headers}
        kept = tuple(header for header in common.headers if header[0].lower() not in named)
        chosen = method or request.method or ("POST" if body else "GET")
        target = Target.parse(url, method=chosen, headers=kept + headers, body=body)
        return replace(target, verify=common.verify, cacert=common.cacert)

    return read_targets(file, common.origin if urls else None, make_target)
