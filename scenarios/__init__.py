"""The documents' experiments, one TOML file each, and their loader. May import loadgen and servers.

scenario  what an experiment is: steps of some kind, the profiles, what was published and what is predicted
kinds     the kinds of values that a file holds, and a table of them, with errors that name file and key
load      TOML -> Scenario
theory    what theory predicts of a load on a profile
"""
