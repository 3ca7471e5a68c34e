"""`python -m loadgen`, and what the console script `loadgen` calls. Light, so that Ctrl-C is caught from the start."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Runs the command and exits with its code."""
    # While it starts there is nothing to keep, and a KeyboardInterrupt in the middle of an import may come out as
    # another error or, from an exec such as a dataclass makes, as a death by signal (Py_RunMain). `loadgen.cli` puts
    # the usual handler back when it has loaded all.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    # numpy's linear algebra starts a thread for each CPU as it is imported. Nothing here uses them, and starting them
    # costs more than most runs' arithmetic.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from loadgen.cli import main as run

        code = run()
    except KeyboardInterrupt:
        code = 130
    # All is said. A Ctrl-C from here on could only make a traceback, out of the interpreter's own end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


if __name__ == "__main__":
    main()
