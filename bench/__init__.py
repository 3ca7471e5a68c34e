"""The bench: what loadgen measures where the right answer is known, and what it costs, beside other clients.

`python -m bench`. Nothing else imports it. It runs every client as a process of its own, round by round (A B A B ...),
so that what the machine does meanwhile falls on all of them.
"""
