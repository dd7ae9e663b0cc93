#!/bin/sh
# Dependencies come line by line on standard input, which is opened by name and more than once.
set -eu
while IFS="$(printf '\t')" read -r name version; do
  [ "$version" != missing ] || { echo "$name is not installed" >/dev/stdout; exit 99; }
done </dev/stdin
cat </dev/stdin
