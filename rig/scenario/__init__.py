"""Scenarios carried out and held against what was predicted and published.

choice     which entries a run of a scenario has, and which are left out because a runtime is missing
outcome    what every kind of step gives when it has been carried out
loads, asks, executors   the kinds
judge      does the prediction hold?
curve      throughput over concurrency, where a scenario has several
report     what is printed before and after the steps; the JSON object
page       docs/experiments.md, from real runs
"""
