"""The command `rig`: starts servers whose limits are known, fires at them, and compares.

cli       the command: profiles, serve, compare, tasks, thread-cost
serving   one server in the foreground
compare   several servers, measured in turns
render    what a comparison prints: blocks and table, JSON, CSV
tasks     executors without HTTP, and what threads cost
"""
