"""Runs held against runs: what changed, whether that can be told from chance, and whether it is too much.

One value a run and figure goes in: the requests of a run wait for each other and are not independent, runs are.
"""
