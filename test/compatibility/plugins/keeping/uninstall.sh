#!/bin/sh
# Removes what install.json names, and cannot do without it.
set -eu
if [ ! -e "$DATA_FILES/install.json" ]; then
  echo "no $DATA_FILES/install.json: nobody knows what was installed" >/dev/stderr
  exit 1
fi
dataset=$(sed -n 's/.*"dataset":"\([^"]*\)".*/\1/p' <"$DATA_FILES/install.json")
"$PROJECT_HOME/rows" uninstall "$dataset"
[ ! -x "$PROJECT_HOME/then" ] || "$PROJECT_HOME/then" uninstall
