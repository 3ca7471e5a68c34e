"""Rendering: what was measured as `text`, or as the JSON object of docs/output.md (`document`).

Pure functions from values to strings and plain data; only the `cli` modules print.
"""
