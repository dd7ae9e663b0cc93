"""Uploads of large files that survive broken connections and restarts of the service, by the tus 1.0 protocol."""

from __future__ import annotations

import base64
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from .digests import digest_field
from .errors import LongshoreError
from .retrying import ATTEMPTS, may_pass, pause

#: Files that have more bytes than this, all together, are sent this way.
RESUMABLE_FROM = 64 * 1024 * 1024

_TUS = {"Tus-Resumable": "1.0.0"}
_CHUNK = 256 * 1024

Request = Callable[..., httpx.Response]


def send_file(request: Request, path: str | os.PathLike[str]) -> str | None:
    """Sends a file and returns the id of its upload; None if the service has no resumable uploads.

    :raises LongshoreError: the service refuses the file
    :raises httpx.TransportError: the service could not be reached for several minutes
    """
    file = Path(path)
    size = file.stat().st_size
    digest = digest_field(file)
    offset = 0
    upload: str | None = None
    # An upload whose answer was lost is not created a second time, which would use quota.
    key = str(uuid.uuid4())
    failures = 0
    while True:
        try:
            if upload is None:
                upload = _create(request, file.name, size, digest, key)
                if upload is None:
                    return None
            elif failures > 0:
                now = _offset(request, upload)
                failures = 0 if now > offset else failures
                offset = now
            if offset == size:
                return upload.rsplit("/", 1)[-1]
            offset = _append(request, upload, file, offset, size)
            failures = 0
        except (httpx.TransportError, LongshoreError) as error:
            # Without a byte in between.
            failures += 1
            # The service may have other bytes than we thought: the next attempt asks.
            behind = isinstance(error, LongshoreError) and error.code == 409
            if not (behind or may_pass(error)) or failures >= ATTEMPTS:
                raise
            pause(failures, error)


def _create(request: Request, name: str, size: int, digest: str, key: str) -> str | None:
    encoded = base64.b64encode(name.encode()).decode()
    headers = {
        **_TUS,
        "Idempotency-Key": key,
        "Upload-Length": str(size),
        "Upload-Metadata": f"filename {encoded}",
        "Repr-Digest": digest,
    }
    try:
        response = request("POST", "/uploads", headers=headers)
    except LongshoreError as error:
        if error.code in (404, 405):
            return None
        raise
    return f"/uploads/{response.headers['location'].rsplit('/', 1)[-1]}"


def _offset(request: Request, upload: str) -> int:
    return int(request("HEAD", upload, headers=_TUS).headers["upload-offset"])


def _append(request: Request, upload: str, file: Path, offset: int, size: int) -> int:
    headers = {
        **_TUS,
        "Content-Type": "application/offset+octet-stream",
        "Content-Length": str(size - offset),
        "Upload-Offset": str(offset),
    }
    response = request("PATCH", upload, headers=headers, content=_bytes_of(file, offset, size))
    return int(response.headers["upload-offset"])


def _bytes_of(file: Path, offset: int, size: int) -> Iterator[bytes]:
    with open(file, "rb") as opened:
        opened.seek(offset)
        left = size - offset
        while left > 0:
            chunk = opened.read(min(_CHUNK, left))
            if not chunk:
                raise OSError(f"{file} became shorter while it was sent")
            left -= len(chunk)
            yield chunk
