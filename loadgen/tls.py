"""TLS as the target asks for it."""

from __future__ import annotations

import ssl

from loadgen.errors import UsageError
from loadgen.plan import Target


def make_tls_context(target: Target, *, alpn: tuple[str, ...] = ("http/1.1",)) -> ssl.SSLContext:
    """A client context: `verify` and `cacert` of the target, and the protocols to offer.

    Raises:
        UsageError: the file of authorities cannot be read or holds none.
    """
    try:
        context = ssl.create_default_context(cafile=target.cacert)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--cacert {target.cacert}: not a PEM file of certificates ({error})") from None
    if not target.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(list(alpn))
    return context
