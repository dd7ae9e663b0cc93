"""The client. Requests and answers have the types of ``models``, which follow from the service's OpenAPI document."""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

import httpx

from .digests import digest_field, sha256_in
from .errors import DatasetFailed, DatasetRefused, DigestMismatch, LongshoreError
from .resumable import RESUMABLE_FROM, send_file
from .retrying import may_pass, repeated

if TYPE_CHECKING:
    from . import models

#: A token, or where to get one that is still valid.
Token = str | Callable[[], str]
Outcome = Literal["pending", "installed", "refused", "failed"]

#: Seconds until a stream is opened again, unless the service says otherwise.
_RETRY = 2.0
#: The service sends a comment every 15 seconds. After so long without one, the connection is dead.
_SILENT = 45.0
_CHUNK = 1024 * 1024


class Longshore:
    """Calls of the installer.

    :param url: where the service is served, such as ``https://data.example.org``
    :param token: a bearer token, or a function that returns one for each request
    :param timeout: seconds that a connection or a read may take
    """

    def __init__(
        self,
        url: str,
        token: Token | None = None,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._timeout = timeout
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            auth=_BearerAuth(token) if token is not None else None,
            # All fields of the newest interface version, and every status.
            headers={"Api-Version": "1.8.0"},
            timeout=timeout,
            transport=transport,
        )

    def __enter__(self) -> Longshore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Any call. Takes what ``httpx.Client.request`` takes; raises :class:`LongshoreError` for 400 and above."""
        response = self._http.request(method, path, **options)
        if response.status_code >= 400:
            raise LongshoreError(response)
        return response

    def upload(
        self,
        details: models.NewDataset,
        files: Sequence[str | os.PathLike[str]] = (),
        *,
        data_url: str | None = None,
        documents: Sequence[str | os.PathLike[str]] = (),
        properties: Sequence[str | os.PathLike[str]] = (),
        idempotency_key: str | None = None,
    ) -> str:
        """Uploads a dataset and returns its id. Give data ``files`` (or one archive), or a ``data_url``.

        Each file is sent with its SHA-256, so that the service refuses one of which a byte changed on the way.
        Files of more than 64 MiB, all together, are sent as resumable uploads: a broken connection or a restart of the service
        does not make them start anew.

        What was accepted is validated and installed after this: :meth:`wait_until_installed`.

        An upload whose connection breaks is repeated. The service then returns the dataset that it has made, if it has.

        :param idempotency_key: a value made up for this dataset; default: a new one for each call. A later call with it and
            the same files returns the id of the same dataset, unless the files were sent as resumable uploads.
        """
        # As parts without file names. Otherwise httpx would send a form without files as urlencoded, which the service refuses.
        fields: list[tuple[str, Any]] = [("details", (None, json.dumps(details)))]
        if data_url is not None:
            fields.append(("url", (None, data_url)))
        upload_ids = self._send_large(files)
        fields.extend(("uploadIds", (None, upload_id)) for upload_id in upload_ids)
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}

        def send() -> str:
            with ExitStack() as opened:
                parts = [
                    (
                        name,
                        (
                            Path(path).name,
                            opened.enter_context(open(path, "rb")),
                            "application/octet-stream",
                            {"Content-Digest": digest_field(path)},
                        ),
                    )
                    for name, paths in (
                        ("dataFile", [] if upload_ids else files),
                        ("docFile", documents),
                        ("dataPropertiesFile", properties),
                    )
                    for path in paths
                ]
                response = self.request("POST", "/datasets", files=[*fields, *parts], headers=headers)
            return cast(str, response.json()["datasetId"])

        return repeated(send)

    def _send_large(self, files: Sequence[str | os.PathLike[str]]) -> list[str]:
        """The ids of the uploads; none if the files are small, or if the service has no resumable uploads."""
        if sum(os.stat(file).st_size for file in files) <= RESUMABLE_FROM:
            return []
        sent = []
        for file in files:
            upload_id = send_file(self.request, file)
            if upload_id is None:
                return []
            sent.append(upload_id)
        return sent

    def dataset(self, dataset_id: str) -> models.DatasetDetails:
        """Metadata, files and status of a dataset."""
        return cast("models.DatasetDetails", self.request("GET", f"/datasets/{dataset_id}").json())

    def datasets(self) -> list[models.ListingItem]:
        """The datasets that the caller may see."""
        return cast("list[models.ListingItem]", self.request("GET", "/datasets").json())

    def iter_datasets(
        self,
        *,
        search: str | None = None,
        community: bool = False,
        page_size: int = 100,
        **query: str,
    ) -> Iterator[models.ListingItem]:
        """All datasets of the caller's list, or of the community's, page by page.

        The next page is asked for when the one before was used. A dataset that is added or removed meanwhile does not change
        what else comes.

        :param search: words, ``"phrases"``, ``-`` before what must not occur, ``*`` after the beginning of a word
        :param query: other parameters of the list: ``name``, ``type``, ``status``, ``updatedSince``, ``sort``, ``order``,
            ``ownership``, ``install_target``
        """
        asked = {**query, "limit": str(page_size)}
        if search is not None:
            asked["q"] = search
        path = "/datasets/community" if community else "/datasets"
        while True:
            response = self.request("GET", path, params=asked)
            yield from cast("list[models.ListingItem]", response.json())
            following = response.links.get("next")
            if following is None:
                return
            asked = {**asked, "cursor": httpx.URL(following["url"]).params["cursor"]}

    def delete(self, dataset_id: str) -> None:
        """Deletes a dataset. It can be undeleted for a while."""
        self.request("DELETE", f"/datasets/{dataset_id}")

    def wait_until_installed(self, dataset_id: str, timeout: float = 3600.0) -> models.DatasetDetails:
        """Waits until the dataset is installed on all its targets, and returns it.

        :raises DatasetRefused: the data cannot be used
        :raises DatasetFailed: the service or a plugin failed
        :raises TimeoutError: neither happened within ``timeout`` seconds
        """
        limit = time.monotonic() + timeout
        details = self._installed(dataset_id)
        if details is not None:
            return details
        # Also at each comment of the stream: the status decides, whatever was told.
        for frame in self._follow(f"/datasets/{dataset_id}/events", {}, limit):
            if frame.get("event") == "accepted":
                continue
            try:
                details = self._installed(dataset_id)
            except (httpx.TransportError, LongshoreError) as error:
                if not may_pass(error):
                    raise
                continue  # The next part of the stream comes within seconds.
            if details is not None:
                return details
        raise TimeoutError(f"dataset {dataset_id} is not installed after {timeout} seconds")

    def events(
        self, dataset_id: str | None = None, *, after: int | None = None, timeout: float = float("inf")
    ) -> Iterator[models.DatasetEvent]:
        """What happens to datasets, each event once and in order. Connects again by itself.

        :param dataset_id: of this dataset only; otherwise of all that the caller owns, or was given
        :param after: begins after the event with this id; 0 begins with the oldest that is kept
        :param timeout: ends after so many seconds
        """
        path = "/events" if dataset_id is None else f"/datasets/{dataset_id}/events"
        query = {} if after is None else {"after": str(after)}
        for frame in self._follow(path, query, time.monotonic() + timeout):
            if "data" in frame and frame.get("event") not in ("gap", "end"):
                yield cast("models.DatasetEvent", json.loads(frame["data"]))

    def _installed(self, dataset_id: str) -> models.DatasetDetails | None:
        details = self.dataset(dataset_id)
        outcome = outcome_of(details["status"])
        if outcome == "installed":
            return details
        if outcome == "pending":
            return None
        said = f"dataset {dataset_id} {outcome}: {'; '.join(messages_of(details['status']))}"
        raise DatasetRefused(said) if outcome == "refused" else DatasetFailed(said)

    def _follow(self, path: str, query: dict[str, str], limit: float) -> Iterator[dict[str, str]]:
        """The events and comments of a stream, until ``limit``. A comment has no fields."""
        headers = {"Accept": "text/event-stream"}
        retry = _RETRY
        while (left := limit - time.monotonic()) > 0:
            patience = httpx.Timeout(self._timeout, read=max(1.0, min(_SILENT, left)))
            pause = 0.0
            try:
                with self._http.stream("GET", path, params=query, headers=headers, timeout=patience) as response:
                    if response.status_code >= 400:
                        response.read()
                        raise LongshoreError(response)
                    for frame in _frames(response.iter_lines()):
                        if "id" in frame:
                            headers["Last-Event-ID"] = frame["id"]
                        if "retry" in frame:
                            retry = int(frame["retry"]) / 1000
                        yield frame
                        if time.monotonic() >= limit:
                            return
            except LongshoreError as error:
                if error.code < 500 and error.code != 429:
                    raise
                pause = error.retry_after or 0.0
            except httpx.TransportError:
                pass  # The service restarts, or the connection was cut.
            time.sleep(max(0.0, min(max(retry, pause), limit - time.monotonic())))

    def download(self, dataset_id: str, kind: Literal["upload", "install"], to: str | os.PathLike[str]) -> bool:
        """Writes the files of a dataset to one zip: those that were uploaded, or those that are installed.

        :return: whether the service knows the SHA-256 of the zip, so that it was verified
        :raises DigestMismatch: the zip has another one
        """
        target = Path(to)
        part = target.with_name(f"{target.name}.part")
        with self._http.stream("GET", f"/datasets/{dataset_id}/files/{kind}") as response:
            if response.status_code >= 400:
                response.read()
                raise LongshoreError(response)
            said = sha256_in(response.headers.get("repr-digest", ""))
            digest = hashlib.sha256()
            try:
                with open(part, "wb") as file:
                    for chunk in response.iter_bytes(_CHUNK):
                        digest.update(chunk)
                        file.write(chunk)
                if said is not None and said != digest.digest():
                    raise DigestMismatch(
                        f"{target}: the service says SHA-256 {said.hex()}, but what arrived has {digest.hexdigest()}"
                    )
                # So the target is never incomplete.
                part.replace(target)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        return said is not None


def _frames(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    frame: dict[str, str] = {}
    for line in lines:
        if line == "":
            yield frame
            frame = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            frame[name] = value


def outcome_of(status: models.StatusBlock) -> Outcome:
    """How the processing of a dataset ended, or ``pending``."""
    if status["upload"]["status"] == "rejected" or status["import"]["status"] == "invalid":
        return "refused"
    if status["upload"]["status"] == "failed" or status["import"]["status"] == "failed":
        return "failed"
    parts = [state["status"] for state in _states(status)]
    if "failed-validation" in parts:
        return "refused"
    if "failed-installation" in parts or "missing-dependency" in parts:
        return "failed"
    complete = status["import"]["status"] == "complete" and len(parts) > 0 and set(parts) == {"complete"}
    return "installed" if complete else "pending"


def messages_of(status: models.StatusBlock) -> list[str]:
    """The messages of all steps."""
    upload = status["upload"]
    return [
        *([upload["message"]] if "message" in upload else []),
        *status["import"].get("messages", []),
        *(message for state in _states(status) for message in state.get("messages", [])),
    ]


def _states(status: models.StatusBlock) -> Iterator[models.InstallState]:
    for target in status["install"]:
        yield target["meta"]
        if "data" in target:
            yield target["data"]


class _BearerAuth(httpx.Auth):
    def __init__(self, token: Token) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        token = self._token() if callable(self._token) else self._token
        request.headers["Authorization"] = f"Bearer {token}"
        yield request
