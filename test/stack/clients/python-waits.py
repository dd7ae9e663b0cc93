"""clients/python with a service that answers as told, and without the pauses: prints what it saw as JSON."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import longshore.resumable as resumable
from longshore import DatasetFailed, Longshore, LongshoreError

seen = {}
pauses: list[float] = []
time.sleep = pauses.append  # type: ignore[assignment]

EVENT = 'id: 7\nevent: installed\ndata: {"id":7,"kind":"installed"}\n\n'


def dataset(data: str) -> httpx.Response:
    target = {"installTarget": "a", "meta": {"status": "complete"}, "data": {"status": data}}
    status = {"upload": {"status": "success"}, "import": {"status": "complete"}, "install": [target]}
    return httpx.Response(200, json={"datasetId": "d", "status": status})


def stream(text: str) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=text)


def refusal(code: int, retry_after: str | None = None) -> httpx.Response:
    return httpx.Response(code, headers={} if retry_after is None else {"retry-after": retry_after}, json={})


class Service(httpx.BaseTransport):
    """Answers the requests of each kind in turn; the last answer stays. An exception is raised."""

    def __init__(self, **answers: list[httpx.Response | Exception]) -> None:
        self.answers = answers
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        kind = "streams" if request.url.path.endswith("/events") else request.method.lower()
        answers = self.answers[kind]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        request.read()
        return answer


def code_of(call: Callable[[], object]) -> object:
    pauses.clear()
    try:
        return call()
    except LongshoreError as error:
        return error.code


cut = httpx.ReadError("cut off")
again = [dataset("running"), refusal(503), cut, refusal(429, "1"), dataset("complete")]
service = Service(get=[*again], streams=[stream(f"{EVENT}:\n\n:\n\n:\n\n")])
with Longshore("http://x", transport=service) as longshore:
    seen["waited"] = [longshore.wait_until_installed("d")["datasetId"], len(service.requests)]
with Longshore("http://x", transport=Service(get=[dataset("running"), refusal(410)], streams=[stream(EVENT)])) as longshore:
    seen["gone"] = code_of(lambda: longshore.wait_until_installed("d"))
failed = Service(get=[dataset("running"), dataset("failed-installation")], streams=[stream(EVENT)])
with Longshore("http://x", transport=failed) as longshore:
    try:
        longshore.wait_until_installed("d")
    except DatasetFailed as error:
        seen["failed"] = str(error)

streams = [refusal(429, "7"), refusal(503, "0"), stream(EVENT)]
with Longshore("http://x", transport=Service(streams=streams)) as longshore:
    pauses.clear()
    seen["streamed"] = [next(longshore.events())["kind"], [*pauses]]

files = [sys.argv[1]]
made = httpx.Response(202, json={"datasetId": "d"})
conflicts = [cut, refusal(409, "5"), refusal(429, "40"), made]
with Longshore("http://x", transport=Service(post=conflicts)) as longshore:
    seen["uploaded"] = [code_of(lambda: longshore.upload({}, files)), [*pauses]]  # type: ignore[typeddict-item]
with Longshore("http://x", transport=Service(post=[cut, refusal(409)])) as longshore:
    seen["conflict"] = [code_of(lambda: longshore.upload({}, files)), len(pauses)]  # type: ignore[typeddict-item]
with Longshore("http://x", transport=Service(post=[cut, refusal(429, "3600")])) as longshore:
    seen["hour"] = [code_of(lambda: longshore.upload({}, files)), len(pauses)]  # type: ignore[typeddict-item]

created = httpx.Response(201, headers={"location": "http://x/uploads/1"})
size = str(Path(files[0]).stat().st_size)
sending = Service(
    post=[cut, created],
    patch=[refusal(409), httpx.Response(204, headers={"upload-offset": size})],
    head=[httpx.Response(200, headers={"upload-offset": "0"})],
)
with Longshore("http://x", transport=sending) as longshore:
    sent = code_of(lambda: resumable.send_file(longshore.request, files[0]))
    keys = {request.headers.get("idempotency-key") for request in sending.requests if request.method == "POST"}
    seen["sent"] = [sent, [request.method for request in sending.requests], len(keys), None in keys]

print(json.dumps(seen))
