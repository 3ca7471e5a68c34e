"""TLS as the target asks for it."""

from __future__ import annotations

import ssl

from loadgen.errors import UsageError
from loadgen.plan import Target


def tls_context(target: Target, *, alpn: tuple[str, ...] = ()) -> ssl.SSLContext | None:
    """The TLS settings of a target, and the protocols to offer; None for plain HTTP.

    Raises:
        UsageError: the file of authorities cannot be used.
    """
    if target.scheme != "https":
        return None
    try:
        context = ssl.create_default_context(cafile=target.cacert)
    except OSError as error:  # ssl.SSLError among them
        raise UsageError(f"--cacert {target.cacert}: {error.strerror or error}; a PEM file is expected") from None
    if not target.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context
