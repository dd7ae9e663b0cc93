// Every process of a user can read the environment that another one of the same user was started with, as long as that one
// runs (/proc/PID/environ): nothing that a process does to its own variables changes what is read there. So a command that
// runs the programs of others starts itself anew, as the same process, with an environment that has nothing to hide; the
// rest is handed over in a file without a name, on standard input, which is closed as soon as it is read.
//
// States:  as started --something to hide--> started anew (marked with the process's id) --read--> hidden

import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundled } from '../../engine/runtime/program-files.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Its value is the id of the process, so that no child takes it for its own. */
const MARK = 'LONGSHORE_HIDDEN_ENVIRONMENT';
/** What the system, the runtime and programs that we start look for by themselves. Nothing else stays in sight. */
const IN_SIGHT =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|HOSTNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|TMPDIR|LD_LIBRARY_PATH|LD_PRELOAD|SSL_CERT_FILE|SSL_CERT_DIR|OPENSSL_CONF|NODE_[A-Z0-9_]+|NOTIFY_SOCKET|LONGSHORE_RUN)$/;

export interface Parts {
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

/** The whole environment. Does not return where something has to be hidden first: then the process starts anew. */
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

/** Nothing else is opened meanwhile, so the file gets the number of standard input, the lowest that is free. */
function handOver(hidden: Parts['hidden']): void {
  const path = join(tmpdir(), `longshore-${process.pid}-${process.hrtime.bigint()}`);
  closeSync(0);
  const file = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  if (file !== 0) throw new Error(`the file for the environment got the number ${file} instead of 0`);
  const bytes = Buffer.from(JSON.stringify(hidden));
  // By position: whoever reads begins at the start.
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
}

function handedOver(): Parts['hidden'] {
  const text = readFileSync(0, 'utf8');
  closeSync(0);
  openSync('/dev/null', 'r');
  return JSON.parse(text) as Parts['hidden'];
}
