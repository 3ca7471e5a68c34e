"""The documents' experiments, one file each, and their loader."""
