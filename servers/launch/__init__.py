"""The server processes' entry points: `python -m servers.launch.<library> --host H --port P --<knob> V ...`.

One module a server library, and `guard`, which `servers.process` puts before every server's command.
"""
