# Uploads files with an HTTP client of PyPI, and prints the status and the body of the answer.
#   python upload.py requests|httpx URL TOKEN DETAILS FILE ..

import os
import sys

client, url, token, details, *files = sys.argv[1:]
parts = [("details", ("details.json", details, "application/json"))]
parts += [("dataFile", (os.path.basename(file), open(file, "rb"))) for file in files]
headers = {"Authorization": f"Bearer {token}"}
if client == "requests":
    import requests

    answer = requests.post(url, headers=headers, files=parts, timeout=60)
else:
    import httpx

    answer = httpx.post(url, headers=headers, files=parts, timeout=60)
print(answer.status_code, answer.text)
