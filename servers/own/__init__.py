"""A user's own servers as profiles: from the tables of a rig.toml, or from a command alone.

file      a rig.toml's profiles, and the catalog that they join
knobs     a server's knobs and what is computed from them
command   a command with placeholders, and the profile made of it
table     a table of the file, read with errors that name file, key, and what is accepted
"""
