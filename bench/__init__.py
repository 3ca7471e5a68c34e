"""Speeds of the load generator, held against other tools. `make bench`."""
