// Every process of a user can read the initial environment of the user's other processes while they run (/proc/PID/environ). A
// process cannot change what is read there by changing its variables. So a command that runs third-party programs re-executes
// itself, as the same process, with an environment without secrets. The other variables are passed in an unlinked file on
// standard input, which is closed as soon as it is read.
//
// States:  as started --something to hide--> re-executed (marked with the process id) --read--> hidden

import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundled } from '../../engine/runtime/program-files.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Its value is the process id, so that no child process mistakes it for its own. */
const MARK = 'LONGSHORE_HIDDEN_ENVIRONMENT';
/** Variables that the system, the runtime and the programs we start read themselves. All others are hidden. */
const IN_SIGHT =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|HOSTNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|TMPDIR|LD_LIBRARY_PATH|LD_PRELOAD|SSL_CERT_FILE|SSL_CERT_DIR|OPENSSL_CONF|NODE_[A-Z0-9_]+|NOTIFY_SOCKET|LONGSHORE_RUN)$/;

interface Parts {
  readonly inSight: Readonly<Record<string, string>>;
  readonly hidden: Readonly<Record<string, string>>;
}

export function partsOf(environment: Environment): Parts {
  const set = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    inSight: Object.fromEntries(set.filter(([name]) => IN_SIGHT.test(name))),
    hidden: Object.fromEntries(set.filter(([name]) => name !== MARK && !IN_SIGHT.test(name))),
  };
}

/** Returns the whole environment. Does not return if something must be hidden first: the process is then re-executed. */
export function hiddenEnvironment(): Environment {
  const { [MARK]: mark, ...environment } = process.env;
  if (mark === String(process.pid)) return { ...environment, ...handedOver() };
  const { inSight, hidden } = partsOf(environment);
  if (Object.keys(hidden).length === 0 || !process.execve) return environment;
  handOver(hidden);
  const program = bundled ? [] : [...process.execArgv, process.argv[1] ?? ''];
  const argv = [process.execPath, ...program, ...process.argv.slice(2)];
  return process.execve(process.execPath, argv, { ...inSight, [MARK]: String(process.pid) });
}

/** Nothing else is opened in between, so the file gets the lowest free descriptor, that of standard input. */
function handOver(hidden: Parts['hidden']): void {
  const path = join(tmpdir(), `longshore-${process.pid}-${process.hrtime.bigint()}`);
  closeSync(0);
  const file = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  if (file !== 0) throw new Error(`the file for the environment got descriptor ${file} instead of 0`);
  const bytes = Buffer.from(JSON.stringify(hidden));
  // Positional writes keep the file offset at 0, where the reader starts.
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
}

function handedOver(): Parts['hidden'] {
  const text = readFileSync(0, 'utf8');
  closeSync(0);
  openSync('/dev/null', 'r');
  return JSON.parse(text) as Parts['hidden'];
}
