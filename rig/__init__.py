"""The command `rig`: starts servers whose limits are known, fires at them, and compares.

cli       the command; the bigger ones in *_cli
options   what several commands take
serving   one server in the foreground
compare   several servers, measured in turns
doctor    what it makes of a machine, one check a fact; machine reads the facts, trial fires a burst
turns     a comparison carried out as a command does: progress, notes
render    what a comparison prints: blocks and table, JSON, CSV
tasks     executors without HTTP, and what threads cost
scenario  the documents' experiments carried out, and held against what was predicted
"""
