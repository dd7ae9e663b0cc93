"""SHA-256 of what is sent and received, as RFC 9530 writes it."""

from __future__ import annotations

import base64
import hashlib
import os
import re

_CHUNK = 1024 * 1024


def digest_field(path: str | os.PathLike[str]) -> str:
    """The value of ``Content-Digest`` or ``Repr-Digest`` for a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"


def sha256_in(field: str) -> bytes | None:
    """The SHA-256 in the value of such a field, if there is one."""
    found = re.search(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):", field)
    return base64.b64decode(found.group(1)) if found else None
