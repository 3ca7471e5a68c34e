"""The truth suite: findings held against runs whose cause is known. `make truth` writes docs/truth.md.

model      a server, its network and its clients, as a discrete-event simulation
sharing    the same for work that shares the CPU
observe    what a local, a remote or a blind observer would have of a simulated run
scenarios  seeded runs of every kind, each with what must be found in it
judge      a run's findings against what must be found
simulated  the suite over scenarios
real       the suite over real servers
bounds     how long explaining takes
report     docs/truth.md
drawing    a run as plain text
pictures   docs/findings.md's pictures, from real runs
"""
