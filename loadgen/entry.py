"""How a command begins and ends, so that Ctrl-C is answered quietly at every moment. Imports nothing heavy."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from types import FrameType
from typing import Final, NoReturn

from loadgen.exit_codes import EXIT_INTERRUPTED

STOP_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def enter(cli: str) -> None:
    """Imports the module `cli`, calls its `main()` and exits with the code that it returns."""
    # While it starts there is nothing to keep, and a KeyboardInterrupt in the middle of an import may come out as
    # another error or, from an exec such as a dataclass makes, as a death by signal (Py_RunMain).
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
    # numpy's linear algebra starts a thread for each CPU as it is imported. Nothing here uses them, and starting them
    # costs more than most runs' arithmetic.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = importlib.import_module(cli).main()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    # All is said. A Ctrl-C from here on could only make a traceback, out of the interpreter's own end, and a SIGTERM
    # another exit code.
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def all_is_loaded() -> None:
    """From here on Ctrl-C, SIGTERM and SIGHUP are a KeyboardInterrupt: there is something to end well.

    Not those that were ignored before, as in a script's background or under nohup.
    """
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
