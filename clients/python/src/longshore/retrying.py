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
#: 409 is a request with the same key, or a change of the same upload, that is still under way.
_AGAIN = frozenset({408, 409, 423, 429, 500, 502, 503, 504})


def may_pass(error: httpx.TransportError | LongshoreError) -> bool:
    return not isinstance(error, LongshoreError) or error.code in _AGAIN


def pause(failures: int) -> None:
    time.sleep(min(0.5 * 2**failures, _LONGEST_WAIT))


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
            pause(failures)
