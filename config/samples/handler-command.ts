// The sample command of the handler service: gives back what was uploaded, and blames the user for empty data. It shows
// all that a command has to do: read its arguments, write to `output/`, say what is wrong as one JSON object.

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const COMMAND = `#!/bin/sh
# Called with the names of the uploaded files and folders; the working directory is theirs.
set -eu
if [ -z "$(find "$@" -type f -size +0 -print)" ]; then
  echo '{"error": "user", "message": "all files of the upload are empty"}' >&2
  exit 1
fi
mkdir -p output
cp -R -- "$@" output/
`;

/** Written whole, so that one that runs is not disturbed. */
export async function writeHandlerCommand(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, COMMAND, { mode: 0o755 });
  await rename(`${path}.new`, path);
}
