"""The client. Requests and answers have the types of ``models``, which follow from the service's OpenAPI document."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

import httpx

from .errors import DatasetFailed, DatasetRefused, LongshoreError
from .resumable import RESUMABLE_FROM, send_file

if TYPE_CHECKING:
    from . import models

#: A token, or where to get one that is still valid.
Token = str | Callable[[], str]
Outcome = Literal["pending", "installed", "refused", "failed"]

_FIRST_WAIT = 0.25
_LONGEST_WAIT = 5.0
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
    ) -> str:
        """Uploads a dataset and returns its id. Give data ``files`` (or one archive), or a ``data_url``.

        Files of more than 64 MiB, all together, are sent as resumable uploads: a broken connection or a restart of the service
        does not make them start anew.

        What was accepted is validated and installed after this: :meth:`wait_until_installed`.
        """
        # As parts without file names. Otherwise httpx would send a form without files as urlencoded, which the service refuses.
        fields: list[tuple[str, Any]] = [("details", (None, json.dumps(details)))]
        if data_url is not None:
            fields.append(("url", (None, data_url)))
        upload_ids = self._send_large(files)
        fields.extend(("uploadIds", (None, upload_id)) for upload_id in upload_ids)
        with ExitStack() as opened:
            parts = [
                (name, (Path(path).name, opened.enter_context(open(path, "rb"))))
                for name, paths in (
                    ("dataFile", [] if upload_ids else files),
                    ("docFile", documents),
                    ("dataPropertiesFile", properties),
                )
                for path in paths
            ]
            response = self.request("POST", "/datasets", files=[*fields, *parts])
        return cast(str, response.json()["datasetId"])

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
        wait = _FIRST_WAIT
        while True:
            details = self.dataset(dataset_id)
            outcome = outcome_of(details["status"])
            if outcome == "installed":
                return details
            if outcome != "pending":
                said = f"dataset {dataset_id} {outcome}: {'; '.join(messages_of(details['status']))}"
                raise DatasetRefused(said) if outcome == "refused" else DatasetFailed(said)
            if time.monotonic() + wait > limit:
                raise TimeoutError(f"dataset {dataset_id} is not installed after {timeout} seconds")
            time.sleep(wait)
            wait = min(wait * 1.5, _LONGEST_WAIT)

    def download(self, dataset_id: str, kind: Literal["upload", "install"], to: str | os.PathLike[str]) -> None:
        """Writes the files of a dataset to one zip: those that were uploaded, or those that are installed."""
        target = Path(to)
        part = target.with_name(f"{target.name}.part")
        with self._http.stream("GET", f"/datasets/{dataset_id}/files/{kind}") as response:
            if response.status_code >= 400:
                response.read()
                raise LongshoreError(response)
            try:
                with open(part, "wb") as file:
                    for chunk in response.iter_bytes(_CHUNK):
                        file.write(chunk)
                # So the target is never incomplete.
                part.replace(target)
            except BaseException:
                part.unlink(missing_ok=True)
                raise


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
