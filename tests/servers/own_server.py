"""A server that knows nothing of this project, as a user's own: `own_server.py PORT [WORD...]`.

It works on `limit=N` requests at once (2 where it is not said), 100 ms each. `/` is a 404, `/health` 200. Words that
make it difficult: `unready` answers 503 everywhere, `chatty` fills its log first, `stubborn` has a child, and both
ignore SIGTERM; `daemon` listens, ends, and leaves the answers to a child, which gives none before.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def main() -> None:
    port, words = int(sys.argv[1]), sys.argv[2:]
    limit = next((int(word.partition("=")[2]) for word in words if word.startswith("limit=")), 2)
    places = threading.BoundedSemaphore(limit)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = {"/health": 200, "/work": 200}.get(self.path, 404)
            if self.path == "/work":
                with places:
                    time.sleep(0.1)
            body = f"{os.environ.get('GREETING', 'none')} {os.getcwd()}\n".encode()  # noqa: PTH109
            self.send_response(503 if "unready" in words else status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    if "stubborn" in words:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
    if "chatty" in words:
        for number in range(200_000):
            sys.stdout.write(f"line {number} of a log that nobody reads\n")
        sys.stdout.flush()
    with Server(("127.0.0.1", port), Handler) as server:
        starter = os.getpid()
        if "daemon" in words and os.fork():
            return
        while "daemon" in words and os.getppid() == starter:
            time.sleep(0.01)
        server.serve_forever()


main()
