"""The `calibrated` server: it keeps exactly the limits it is told, and says by how much it failed to.

It is the truth that the load generator and its findings are tested against, so exactness comes before everything else.
Four decisions make it exact:

- A request's place in the queue is arithmetic, not luck (`timetable`): when it is read, the moment its service begins
  and the moment it ends follow from its arrival and from the moments the slots come free. A slot is handed over when
  the service before it was due to end, not when the loop got round to it, so errors do not add up from wave to wave.
- Arrival is the kernel's own receive time stamp where there is one: a loop that needs 30 ms to accept a burst of 1,000
  does not add them to anybody's service.
- One precise timer (`alarm`) for the earliest answer; what is due goes out before anything else is accepted or read.
- Real-time scheduling, if asked for and granted: otherwise a busy machine adds milliseconds (`precedence`).

What the endpoints do and answer is `servers.work`'s, as with every server. The other modules: `settings` (the knobs),
`acceptor` (the listening socket), `connection` (one client), `arrival` (the kernel's stamp), `reader` (bytes to
requests), `endpoints` (a request's target read), `response` (bytes to send), `stats` (what it did), `server` (all of
them together), `cli` (the command).

What it does where another server might do something else:

- `/sleep` without `ms` is worked on for `service_ms`. Jitter is added to that and to any `ms`, drawn in the order in
  which requests are read; the answer names the time without it, its Server-Timing the time with it, as planned.
- `/mixed` waits as `/sleep` does and no more: what it computes is computed once and kept.
- `/downstream` takes a slot of the limit, and in it one of the pool. `/block` and `/cpu` hold the whole loop,
  `/thread`, `/json`, `/stats` and `/metrics` take no time: none of them takes a slot.
- What was begun is worked on to its end, whether or not the client still waits: its slot is not free before.
- Requests that come while one of the same connection is worked on wait their turn, and are answered in order.
- Work ends on time inside a standstill, but is answered, and its slot handed over, at the standstill's end.
- Idle connections are kept for ever. SIGTERM and SIGINT end it at once, and drop what is being worked on.
- `/stats` says more than elsewhere; `response` is its own record of response times, from the kernel's receipt of the
  last byte to the written answer, to hold a client's figures against. `/stats?reset=1` answers what there was until
  then, and begins the counts and the jitter anew.
"""
