#!/bin/sh
# What the uninstall has to remove is written into DATA_FILES before the first row.
set -eu
mkdir "$DATA_FILES"
printf '{"dataset":"%s"}\n' "$1" >"$DATA_FILES/install.json"
"$PROJECT_HOME/rows" install "$1" "$2/genes.txt"
# The first commit is done. What comes next is the test's.
[ ! -x "$PROJECT_HOME/then" ] || "$PROJECT_HOME/then" install
cp -R "$2"/. "$DATA_FILES"/
