"""When a request is sent again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import httpx

from .errors import LongshoreError

Result = TypeVar("Result")

#: Failures in a row.
ATTEMPTS = 12
_LONGEST_WAIT = 30.0
#: A service that asks for a longer pause is not waited for.
_LONGEST_ASKED = 60.0
_AGAIN = frozenset({408, 423, 429, 500, 502, 503, 504})


def may_pass(error: httpx.TransportError | LongshoreError) -> bool:
    if not isinstance(error, LongshoreError):
        return True
    if error.retry_after is not None and error.retry_after > _LONGEST_ASKED:
        return False
    # With a time, another request is under way, which has the same key or a claim on the same upload.
    return error.retry_after is not None if error.code == 409 else error.code in _AGAIN


def pause(failures: int, error: httpx.TransportError | LongshoreError) -> None:
    """At least as long as the service asks for."""
    asked = error.retry_after if isinstance(error, LongshoreError) else None
    time.sleep(max(min(0.5 * 2**failures, _LONGEST_WAIT), asked or 0.0))


def repeated(send: Callable[[], Result]) -> Result:
    """Sends a request with an idempotency key again if the connection broke, until there is an answer that counts.

    The first answer counts whatever it is, and a service that was never reached is not waited for.
    """
    failures = 0
    while True:
        try:
            return send()
        except (httpx.TransportError, LongshoreError) as error:
            lost = isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
            connected = lost and not isinstance(error, httpx.ConnectError)
            if not (connected if failures == 0 else may_pass(error)):
                raise
            failures += 1
            if failures >= ATTEMPTS:
                raise
            pause(failures, error)
