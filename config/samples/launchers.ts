// Writes the programs of the samples: two-line programs that start this program as a script of a sample plugin, for the plugin
// host to run, and the sample command of the handler service.

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ScriptKind } from './run-sample.ts';
import { SAMPLE_NAMES, type SampleName } from './samples.ts';

/** The key of each script in the configuration (`plugins.*.scripts`). */
const CONFIG_KEYS = {
  import: 'dataCleaning',
  'check-compatibility': 'checkCompatibility',
  'install-data': 'dataInstall',
  'install-meta': 'metaUpdate',
  uninstall: 'uninstall',
} as const satisfies Record<ScriptKind, string>;
type ConfigKey = (typeof CONFIG_KEYS)[ScriptKind];

/** Paths of the scripts by configuration key; absolute when `dir` is. */
type SampleLaunchers = Readonly<Record<SampleName, Readonly<Record<ConfigKey, string>>>>;

/**
 * Writes `{dir}/{sample}/{kind}` for every sample and kind. Existing files are replaced atomically, so that running scripts are
 * not disturbed. `runtimeArgv` starts this program: `[node, entry]`, or the single executable alone.
 */
export async function writeSampleLaunchers(dir: string, runtimeArgv: readonly string[]): Promise<SampleLaunchers> {
  const launchers = {} as Record<SampleName, Record<ConfigKey, string>>;
  for (const sample of SAMPLE_NAMES) {
    const folder = join(dir, sample);
    await mkdir(folder, { recursive: true });
    const paths = {} as Record<ConfigKey, string>;
    for (const [kind, key] of Object.entries(CONFIG_KEYS)) {
      const path = join(folder, kind);
      const command = [...runtimeArgv, 'sample-script', sample, kind].map(quote).join(' ');
      await writeFile(`${path}.new`, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
      await rename(`${path}.new`, path);
      paths[key] = path;
    }
    launchers[sample] = paths;
  }
  return launchers;
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/**
 * The sample command of the handler service: returns what was uploaded, and reports empty data as the user's fault. It shows
 * everything that a command has to do: read its arguments, write to `output/`, report a fault as one JSON object.
 */
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

/** Written atomically, so that a running command is not disturbed. */
export async function writeHandlerCommand(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, COMMAND, { mode: 0o755 });
  await rename(`${path}.new`, path);
}
