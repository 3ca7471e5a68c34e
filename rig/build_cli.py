"""The command `rig build`: builds, ahead of time, the servers that must be built before they run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.command import tell
from loadgen.entry import all_is_loaded
from loadgen.errors import UsageError

if TYPE_CHECKING:
    from servers.catalog import Instance


def build(
    profile: Annotated[
        str | None, typer.Argument(metavar="PROFILE", help="As in spring; all that need it where none is named.")
    ] = None,
) -> None:
    """Builds a profile's server ahead of its first use.

    It goes into the user's cache. Prints where the built program is. What is built already is not built again; a
    changed source is.
    """
    from servers.catalog import PROFILES, parse_spec

    built = [name for name, known in PROFILES.items() if known.build is not None]
    instances = [parse_spec(spec) for spec in ([profile] if profile is not None else built)]
    all_is_loaded()
    for instance in instances:
        if instance.profile.build is None:
            raise UsageError(f"profile {instance.profile.name} needs no building; those that do: {', '.join(built)}")
        build_first([instance])
        print(f"{instance.profile.name}: {instance.profile.build.directory}")


def build_first(instances: Iterable[Instance]) -> None:
    """Builds what is not built yet of these, and says so on stderr, before their servers are started.

    Raises:
        servers.errors.RuntimeMissing: what one runs on, or is built with, is not here.
        servers.errors.ProgramError: one could not be built.
    """
    for instance in instances:
        instance.require_runtime()
        instance.build(lambda line: tell(f"rig: {line}"))
