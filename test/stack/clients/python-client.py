"""clients/python as a user's program has it: arguments are the URL, the token and a folder; prints what it saw as JSON."""

import hashlib
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import longshore.client as longshore_client
from longshore import DatasetRefused, Longshore, LongshoreError

url, token, folder, details_text = sys.argv[1:]
details = json.loads(details_text)
seen = {}


def file(name: str, content: str) -> Path:
    path = Path(folder) / name
    path.write_text(content)
    return path


def digest_of(path: Path) -> bytes:
    with open(path, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()


with Longshore(url, lambda: token) as longshore:
    genes = [file("genes.txt", "PF3D7_0100100\nPF3D7_0100200\n")]
    dataset_id = longshore.upload(details, genes, idempotency_key="genes")
    seen["repeated"] = longshore.upload(details, genes, idempotency_key="genes") == dataset_id
    dataset = longshore.wait_until_installed(dataset_id, timeout=300)
    seen["name"] = dataset["name"]
    seen["listed"] = [one["datasetId"] for one in longshore.datasets()] == [dataset_id]
    seen["verified"] = longshore.download(dataset_id, "upload", Path(folder) / "upload.zip")
    with zipfile.ZipFile(Path(folder) / "upload.zip") as archive:
        seen["files"] = archive.namelist()
        seen["text"] = archive.read("genes.txt").decode()
    bad = longshore.upload(details, [file("bad.txt", "no gene\n\0")])
    try:
        longshore.wait_until_installed(bad, timeout=300)
    except DatasetRefused as error:
        seen["refused"] = str(error)
    seen["told"] = []
    for event in longshore.events(dataset_id):
        seen["told"].append(event["kind"])
        if event["kind"] == "installed":
            break
    seen["paged"] = [one["datasetId"] for one in longshore.iter_datasets(page_size=1)] == [bad, dataset_id]
    seen["found"] = [one["datasetId"] for one in longshore.iter_datasets(search="python -nothing", status="installed")] == [
        dataset_id
    ]
    seen["community"] = list(longshore.iter_datasets(community=True, sort="name"))
    longshore.delete(dataset_id)
    try:
        longshore.dataset(dataset_id)
    except LongshoreError as error:
        seen["deleted"] = [error.code, (error.problem or {}).get("status"), error.request_id is not None]
    try:
        longshore.download("NoSuchDataset000", "upload", Path(folder) / "none.zip")
    except LongshoreError as error:
        seen["missing"] = [error.code, (Path(folder) / "none.zip").exists()]

class Flaky(httpx.HTTPTransport):
    """Cuts the first pieces of an upload off in the middle, and answers 503 once."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method != "PATCH":
            return super().handle_request(request)
        self.pieces += 1
        if self.pieces == 2:
            return httpx.Response(503, request=request)
        if self.pieces in (1, 3):
            request.stream = CutInTheMiddle(request.stream)
        return super().handle_request(request)


class CutInTheMiddle(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self.stream = stream

    def __iter__(self) -> Iterator[bytes]:
        for number, chunk in enumerate(self.stream):
            if number == 16:
                raise httpx.WriteError("cut off")
            yield chunk


large = Path(folder) / "large.txt"
with open(large, "w") as out:
    for number in range(900_000):
        out.write(f"PF3D7_{number:07d}\n")
class AnswerLost(httpx.HTTPTransport):
    """Loses the answer to the first upload."""

    def __init__(self) -> None:
        super().__init__()
        self.uploads = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if request.method == "POST" and request.url.path == "/datasets":
            self.uploads += 1
            if self.uploads == 1:
                response.read()
                raise httpx.ReadError("cut off")
        return response


lossy = AnswerLost()
with Longshore(url, token, transport=lossy) as longshore:
    before = len(longshore.datasets())
    longshore.upload(details, genes)
    seen["lost"] = [lossy.uploads, len(longshore.datasets()) - before]

flaky = Flaky()
longshore_client.RESUMABLE_FROM = 1_000_000
with Longshore(url, token, transport=flaky) as longshore:
    large_id = longshore.upload(details, [large])
    longshore.wait_until_installed(large_id, timeout=300)
    longshore.download(large_id, "upload", Path(folder) / "large.zip")
    with zipfile.ZipFile(Path(folder) / "large.zip") as archive, archive.open("large.txt") as sent:
        seen["large"] = [flaky.pieces, hashlib.file_digest(sent, "sha256").digest() == digest_of(large)]

with Longshore(url) as nobody:
    try:
        nobody.datasets()
    except LongshoreError as error:
        seen["nobody"] = error.code



class CutOff(httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield b"PK"
        raise httpx.ReadError("cut off")


with Longshore(url, transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=CutOff()))) as longshore:
    try:
        longshore.download(dataset_id, "upload", Path(folder) / "half.zip")
    except httpx.ReadError:
        seen["half"] = [path.name for path in Path(folder).glob("half*")]

print(json.dumps(seen))
