"""Run folders: what was measured, kept to be looked at again.

    saving   a comparison into a folder, as it goes on
    saved    a folder, read back
    again    the text that was printed, from a folder
    listing  what folders there are, and which one is meant

The folder itself is written by `loadgen.run_folder`, which `loadgen --save` uses too.
"""
