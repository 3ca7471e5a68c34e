"""Executors without HTTP: the same tasks on pools, threads, processes, loops and greenlets; and what threads cost.

work      what a task does: wait, compute, or spin
kinds     spec -> Kind: an executor's name, its limits, what findings call it
carriers  how each kind carries tasks out; runs in a child process
child     that child process: a run for each line that it is given
hosting   the child as its parent sees it
room      does it fit this machine's limits on threads?
measure   TasksPlan -> ExecutorRuns, in turns; the Python interface
render    lines, JSON, CSV rows
told      the closing sentence: condition and reason
cost      what a thread, an asyncio task and a greenlet cost
"""
