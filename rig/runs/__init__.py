"""Run folders: what was measured, kept to be looked at again.

    saving   a comparison into a folder, as it goes on
    saved    a folder, read back
    again    the text that was printed, from a folder
    rerun    the same carried out again
    result   names and reading of result.json
    listing  what folders there are, and which one is meant

The folder itself is written by `loadgen.run_folder`, which `loadgen --save` uses too.
"""
