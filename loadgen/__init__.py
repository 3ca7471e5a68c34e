"""The load generator: fires requests, keeps a row for each, says why.

Data goes one way: Plan -> Schedule -> Engine -> Samples -> Summary -> Findings -> rendering.
It imports none of the project's other packages and is useful alone against any URL.
"""
