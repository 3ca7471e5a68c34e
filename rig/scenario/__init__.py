"""Scenarios carried out and held against what was predicted and published.

choice     which entries a run of a scenario has, and which are left out because a runtime is missing
outcome    what every kind of step gives when it has been carried out
loads, asks, executors   the kinds
steps      the steps carried out, one after another
estimate   how long that takes
judge, met does the prediction hold?
own_figures, resent   what a load shows besides: the server's own figures, what the kernel sent again
curve      throughput over concurrency, where a scenario has several
report     what is printed before and after the steps; the JSON object
"""
