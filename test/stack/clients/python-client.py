"""clients/python as a user's program has it: arguments are the URL, the token and a folder; prints what it saw as JSON."""

import json
import sys
import zipfile
from pathlib import Path

from longshore import DatasetRefused, Longshore, LongshoreError

url, token, folder, details_text = sys.argv[1:]
details = json.loads(details_text)
seen = {}


def file(name: str, content: str) -> Path:
    path = Path(folder) / name
    path.write_text(content)
    return path


with Longshore(url, lambda: token) as longshore:
    dataset_id = longshore.upload(details, [file("genes.txt", "PF3D7_0100100\nPF3D7_0100200\n")])
    dataset = longshore.wait_until_installed(dataset_id, timeout=300)
    seen["name"] = dataset["name"]
    seen["listed"] = [one["datasetId"] for one in longshore.datasets()] == [dataset_id]
    longshore.download(dataset_id, "upload", Path(folder) / "upload.zip")
    with zipfile.ZipFile(Path(folder) / "upload.zip") as archive:
        seen["files"] = archive.namelist()
        seen["text"] = archive.read("genes.txt").decode()
    bad = longshore.upload(details, [file("bad.txt", "no gene\n\0")])
    try:
        longshore.wait_until_installed(bad, timeout=300)
    except DatasetRefused as error:
        seen["refused"] = str(error)
    longshore.delete(dataset_id)
    try:
        longshore.dataset(dataset_id)
    except LongshoreError as error:
        seen["deleted"] = [error.code, (error.problem or {}).get("status"), error.request_id is not None]
    try:
        longshore.download("NoSuchDataset000", "upload", Path(folder) / "none.zip")
    except LongshoreError as error:
        seen["missing"] = [error.code, (Path(folder) / "none.zip").exists()]

with Longshore(url) as nobody:
    try:
        nobody.datasets()
    except LongshoreError as error:
        seen["nobody"] = error.code

print(json.dumps(seen))
