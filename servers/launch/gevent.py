"""The profile `greenlets`: gevent's pywsgi."""

from __future__ import annotations

from gevent import monkey  # type: ignore[import-untyped]

from servers.launch.arguments import parse
from servers.ports import bracketed


def main() -> None:
    """Serve until terminated."""
    arguments = parse(["backlog"])
    # Before anything that takes `time.sleep` or a lock: the application must see the patched ones.
    monkey.patch_all()

    import socket

    from gevent.pywsgi import WSGIServer  # type: ignore[import-untyped]

    from servers.wsgi import create_app

    server = WSGIServer(
        f"{bracketed(arguments.host)}:{arguments.port}",
        create_app(),
        backlog=arguments.backlog,
        log=None,
        # Not given, it is looked up in the DNS, which may take seconds.
        environ={"SERVER_NAME": arguments.host},
    )
    server.init_socket()
    # Accepted connections inherit it. Without it each answer on a kept-alive connection waits 40 ms for the client's
    # delayed ACK, because pywsgi sends head and body apart; the other servers set it themselves.
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server.serve_forever()


if __name__ == "__main__":
    main()
