"""The command `rig doctor`: is this machine fit to measure on, and what would have to be done?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen import options as opt
from loadgen.entry import all_is_loaded
from loadgen.errors import UsageError
from loadgen.exit_codes import EXIT_MISSED, EXIT_OK

if TYPE_CHECKING:
    from rig.doctor import Check

DOCTOR_EXAMPLES = """
\b
Examples:
  rig doctor
  rig doctor --quick --output-format json

\b
Exit codes: 0 fit, perhaps with warnings; 1 something fails that loadrig cannot
work without.
"""


def doctor(
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the burst, which takes some seconds.")] = False,
    output_format: opt.Format = opt.OutputFormat.TEXT,
) -> None:
    """Looks whether this machine is fit to measure on.

    One line a check: ok, warn or fail, what was found, and at the end what to do.
    """
    if output_format not in (opt.OutputFormat.TEXT, opt.OutputFormat.JSON):
        raise UsageError("--output-format takes text or json here")
    from rig.doctor import document, failed

    all_is_loaded()
    checks = []
    for check in _checks(quick=quick):
        checks.append(check)
        if output_format is opt.OutputFormat.TEXT:
            print(check.line, flush=True)
    if output_format is opt.OutputFormat.JSON:
        print(json.dumps(document(checks), indent=2))
    raise typer.Exit(EXIT_MISSED if failed(checks) else EXIT_OK)


def _checks(*, quick: bool) -> Iterator[Check]:
    """Every check, in the order in which they are printed, each as soon as it is known."""
    from rig.doctor import failed

    needed = list(_software())
    yield from needed
    yield from _runtimes()
    if failed(needed):  # what reads the rest is built on it
        return
    yield from _kernel()
    yield from _hardware()
    if not quick:
        yield from _burst()


def _software() -> Iterator[Check]:
    from loadgen.machine import library_version
    from rig.doctor import LIBRARIES, check_library, check_python

    yield check_python(sys.version_info[:3])
    for library in LIBRARIES:
        try:
            version = library_version(library.name)
        except Exception as error:  # one built for another Python may raise anything
            yield check_library(library, None, f"{type(error).__name__}: {error}")
        else:
            yield check_library(library, version)


def _runtimes() -> Iterator[Check]:
    from rig.doctor import check_runtime
    from servers.runtimes import JAVA, NODE

    for runtime in (NODE, JAVA):
        yield check_runtime(runtime, runtime.seen())


def _kernel() -> Iterator[Check]:
    from loadgen.kernel import local_ports, raise_descriptor_limit, sysctl
    from loadgen.machine import descriptor_limits
    from loadgen.preflight import descriptor_room
    from loadgen.server_watch import read_kernel_rules
    from rig import doctor as look

    soft, hard = descriptor_limits()
    raised = raise_descriptor_limit()
    yield look.check_descriptors(soft, hard, None if raised is None else descriptor_room(raised))
    ports = local_ports()
    if ports is not None:
        yield look.check_ports(ports)
    rules = read_kernel_rules()
    if rules.somaxconn is not None:
        yield look.check_accept_queue(rules.somaxconn)
        yield look.check_resends(rules)
    abort = sysctl("net/ipv4/tcp_abort_on_overflow")
    if abort is not None:
        yield look.check_overflow(abort)


def _hardware() -> Iterator[Check]:
    from loadgen import machine
    from loadgen.kernel import available_cpus
    from rig import doctor as look

    cpus = available_cpus()
    yield look.check_cpus(cpus, os.cpu_count() or cpus, machine.cpu_quota())
    load = machine.load()
    if load is not None:
        yield look.check_load(load, cpus)
    yield look.check_memory(*machine.memory())
    yield look.check_ipv6(machine.loopback_ipv6())
    yield look.check_clock(machine.clock_step_ns())


def _burst() -> Iterator[Check]:
    from loadgen.errors import CapacityError
    from rig.doctor import check_burst, check_no_burst
    from rig.trial import trials
    from servers.errors import StartError

    try:
        yield check_burst(list(trials()))
    except StartError as error:
        yield check_no_burst(str(error))
    except CapacityError:
        return  # the descriptors or the ports have warned of it
