"""HTTP servers whose limits are known, and the means to start and stop them.

Imports nothing of `loadgen`, `rig` or `scenarios`. Where to look:

- `work`: what the endpoints do; `waiting`: how a server's model waits
- `wsgi`, `asgi`, `aiohttp_app`: the applications
- `profile`, `table`, `catalog`: what a profile is, the profiles there are, how a spec (`threads:threads=400`) is read
- `own`, `template`: a user's own servers as profiles, and texts with placeholders
- `launch`: the processes' entry points, one a server library
- `node`, `spring`: the servers in JavaScript and in Java; `runtimes`: what such servers run on, found or said to be
  missing; `builds`: what is built before it runs; `java`: tasks on Java's executors
- `process`, `guarded`, `readiness`, `groups`, `ports`: start, wait until ready, stop
- `stats`: counters that server and starter share
- `metrics`: the same for Prometheus
"""
