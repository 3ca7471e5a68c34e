"""What the server and the generator take of the machine while a run lasts, on the time axis of the requests.

A process beside the generator looks (`sampler`), lest it take the generator's interpreter from the engine:

    processes, counters   what is to be seen of a process and of a server's own counters
    sampler               the process that looks, 20 times a second
    watch                 starts it, and tells it when a run begins and ends
    seen                  what it saw: rows, peaks, garbage collections

Linux only, and of processes on this machine; elsewhere nothing is seen, and nothing is shown.
"""
