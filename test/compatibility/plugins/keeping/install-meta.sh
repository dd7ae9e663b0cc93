#!/bin/sh
set -eu
cp "$2" "$DATA_FILES/meta.json"
