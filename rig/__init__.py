"""The command `rig`: starts servers whose limits are known, fires at them, and compares.

cli       the command; the bigger ones in *_cli
options   what several commands take
serving   one server in the foreground
compare   several servers, measured in turns; measured is what came of it
turns     a comparison carried out as a command does: progress, notes; watched says which processes to look at
render    what a comparison prints: blocks and table, JSON, CSV; names, columns and difference are its words
doctor    what it makes of a machine, one check a fact; loadgen.machine reads the facts, trial fires a burst
runs      run folders, read and written; schemas describe their files
report    saved runs as one HTML page
diff      two results held against each other
tasks     executors without HTTP, and what threads cost
scenario  the documents' experiments carried out, and held against what was predicted
"""
