"""What the client raises."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


class LongshoreError(Exception):
    """An answer of 400 or above.

    ``code`` is the HTTP status, ``problem`` what the service says (None when a proxy answered), and ``request_id`` is for the
    administrators of the service, who find it in the log. ``retry_after`` is in how many seconds to try again (None when the
    answer does not say it).
    """

    def __init__(self, response: httpx.Response) -> None:
        self.code = response.status_code
        self.problem = _problem_of(response)
        self.request_id: str | None = response.headers.get("x-request-id")
        self.retry_after = _seconds_in(response.headers.get("retry-after", ""))
        said = (self.problem or {}).get("message") or (self.problem or {}).get("status")
        super().__init__(said or f"{response.status_code} {response.reason_phrase}")


class DatasetRefused(Exception):
    """The upload was rejected, or the data are invalid. Upload a revision."""


class DatasetFailed(Exception):
    """An error of the service or of a plugin. The administrators can try again."""


class DigestMismatch(Exception):
    """What arrived does not have the SHA-256 that the service says. Nothing was written; try again."""


def _problem_of(response: httpx.Response) -> dict[str, Any] | None:
    try:
        body = response.json()
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _seconds_in(field: str) -> float | None:
    """Of a Retry-After. Proxies may say a time instead of seconds."""
    if field.isascii() and field.isdigit():
        return float(field)
    try:
        time = parsedate_to_datetime(field)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    return max(0.0, (time - datetime.now(timezone.utc)).total_seconds())
