#!/bin/sh
# The gene list, one id a line. Streams are opened by name.
set -eu
echo "import of $VDI_ID" >/dev/stderr
cat </dev/stdin >/dev/null
find "$1" -type f ! -name vdi-meta.json -exec cat {} + >"$2/genes.txt"
echo "community: read as a gene list" >/dev/stdout
