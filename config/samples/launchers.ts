// Writes the programs of the samples: short programs that run a script of a sample plugin, for the plugin host to start, and the
// sample command of the handler service.
//
// To start a runtime takes longer than to import a small dataset. So a launcher first asks a resident process to run its script
// (bin/compose/sample-calls.ts), if it was told where to ask. It starts no other program for that:
//   1. It checks that somebody reads requests: `reader` leads to a descriptor of the reading process, and is the pipe `requests`.
//   2. It has a pipe without a name, because shells make one for a here-document, and opens it for writing, too.
//   3. It writes its process id to `requests`. The resident process opens the pipe for writing, and replies `taken`. If there is
//      no such process any more, the service replies `nobody`.
//   4. Once the request is taken it closes its own writing end. So it reads the exit code or `own`, or nothing if the resident
//      process has crashed.
// Arguments and environment are not sent: the resident process reads them from /proc, and opens the launcher's descriptors.
// While a shell runs a builtin, its descriptors 0, 1 and 2 may be others, so copies are used. Whenever the resident process does
// not do it, the script runs as a process of its own.

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ScriptKind } from './run-sample.ts';
import { SAMPLE_NAMES, type SampleName } from './samples.ts';

/** The key of each script in the configuration (`plugins.*.scripts`). */
export const CONFIG_KEYS = {
  import: 'dataCleaning',
  'check-compatibility': 'checkCompatibility',
  'install-data': 'dataInstall',
  'install-meta': 'metaUpdate',
  uninstall: 'uninstall',
} as const satisfies Record<ScriptKind, string>;
type ConfigKey = (typeof CONFIG_KEYS)[ScriptKind];

/** Paths of the scripts by configuration key; absolute when `dir` is. */
type SampleLaunchers = Readonly<Record<SampleName, Readonly<Record<ConfigKey, string>>>>;

/** Names in the folder of calls. */
export const CALLS = { requests: 'requests', reader: 'reader' } as const;
/** Descriptors of a launcher that asks: the two ends of its pipe, copies of its standard ones, and the pipe of requests. */
export const CALLER_FD = { read: 3, reply: 4, stdin: 5, stdout: 6, stderr: 7, requests: 8 } as const;
/** First reply: the second will be the exit code. */
export const TAKEN = 'taken';
/** First reply: the request was not taken, and will not be. */
export const NOBODY = 'nobody';
/** Second reply: the script is to run as a process of its own. */
export const OWN_PROCESS = 'own';
/** After a process id in a request: the launcher was told to stop, and still waits for the reply. */
export const CANCELLED = 'cancelled';

/**
 * Writes `{dir}/{sample}/{kind}` for every sample and kind. Existing files are replaced atomically, so that running scripts are
 * not disturbed.
 * @param runtimeArgv starts this program: `[node, entry]`, or the single executable alone
 * @param calls the folder where a resident process may be asked; absolute. Undefined: each script is a process of its own
 * @param samples those that are written
 */
export async function writeSampleLaunchers(
  dir: string,
  runtimeArgv: readonly string[],
  calls?: string,
  samples: readonly SampleName[] = SAMPLE_NAMES,
): Promise<SampleLaunchers> {
  const launchers = {} as Record<SampleName, Record<ConfigKey, string>>;
  for (const sample of samples) {
    const folder = join(dir, sample);
    await mkdir(folder, { recursive: true });
    const paths = {} as Record<ConfigKey, string>;
    for (const [kind, key] of Object.entries(CONFIG_KEYS) as [ScriptKind, ConfigKey][]) {
      const path = join(folder, kind);
      const own = `exec ${[...runtimeArgv, 'sample-script', sample, kind].map(quote).join(' ')} "$@"\n`;
      const asking = calls === undefined ? '' : ask(calls, kind);
      await writeFile(`${path}.new`, `#!/bin/sh\n${asking}${own}`, { mode: 0o755 });
      await rename(`${path}.new`, path);
      paths[key] = path;
    }
    launchers[sample] = paths;
  }
  return launchers;
}

/** The part of a launcher that asks. It ends the launcher, or continues for the script to run as a process of its own. */
function ask(calls: string, kind: ScriptKind): string {
  const { read, reply, stdin, stdout, stderr, requests } = CALLER_FD;
  // What was read from standard input is lost with the resident process. 75: to be run again later.
  const lost = kind === 'check-compatibility' ? 'exit 75' : ':';
  return `# A process that is running already does it for small datasets. Whatever stands in the way, the last line does it.
calls=${quote(calls)} code=${OWN_PROCESS} stopped=
if [ -O "$calls/${CALLS.requests}" ] && [ "$calls/${CALLS.reader}" -ef "$calls/${CALLS.requests}" ]; then
  trap 'stopped=143; echo "$$ ${CANCELLED}" >"$calls/${CALLS.reader}"' HUP INT TERM
  # A signal interrupts the first attempt to read.
  reply() { read -r code <&${read} || read -r code <&${read}; }
  {
    reply
    [ -p /proc/self/fd/${read} ] && { echo "$$" >&${requests} && reply; } ${reply}<>/proc/self/fd/${read}
    # The second reply. The service may have written as well, while the resident process crashed.
    [ "$code" != ${TAKEN} ] || { reply; [ "$code" != ${NOBODY} ] || code=; }
  } ${read}<<'END' ${stdin}<&0 ${stdout}>&1 ${stderr}>&2 ${requests}>"$calls/${CALLS.reader}"
${OWN_PROCESS}
END
  [ -z "$stopped" ] || exit "$stopped"
  case $code in
    ${OWN_PROCESS} | ${NOBODY}) ;;
    '') ${lost} ;;
    *) exit "$code" ;;
  esac
fi
`;
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
