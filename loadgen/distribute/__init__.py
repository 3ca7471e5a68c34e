"""One workload carried out by several: processes of this machine, or workers of a Dask cluster.

shard      what each of them does: its part of a run, released at a given moment of its own clock
crew       those who do it, as the rest sees them; the selector
processes  a crew of child processes, of which each runs `worker`
cluster    a crew of Dask workers, on each of which `remote` runs
engine     the engine that has a crew carry out a job
merge      the parts as one: lossless, in the order of the schedule
"""
