// What 300 handler jobs leave behind: their results, and nothing else. Each forks a process that would outlive it.

import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { zipOf } from '../fixtures/archives.ts';
import { untar } from '../http/handler/handler-app.ts';
import { freePortBase, processesBelow, tempDir, up } from '../support/longshore.ts';

const JOBS = 300;
/** More at once than run, before anything is counted: pools and threads have begun. */
const CROWD = 60;
const CROWD_AT_ONCE = 20;
/** Pipes and event descriptors of the loop of one worker thread. Idle threads end, others begin. */
const OF_A_THREAD = 5;
const AT_ONCE = 4;

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
// Leaves a child, or one in a session of its own, or one that holds the pipes; blames the user, fails, or gives a result.
await writeFile(
  join(dir, 'handler', 'copy-inputs'),
  `#!/bin/sh
set -eu
if [ -e holds ]; then sleep 1000 & else sleep 1000 > /dev/null 2>&1 & fi
if [ -e escapes ]; then setsid sleep 1000 > /dev/null 2>&1 & fi
if [ -e blames ]; then echo '{"error":"user","message":"no"}' >&2; exit 1; fi
if [ -e fails ]; then exit 2; fi
mkdir output
cp -- "$@" output/
`,
  { mode: 0o755 },
);
interface Kind {
  readonly archive: Buffer;
  readonly code: number;
}
const HOLDS: Kind = { archive: await zipOf({ holds: 'x' }), code: 200 };
const KINDS: readonly Kind[] = [
  { archive: await zipOf({ blames: 'x' }), code: 422 },
  { archive: await zipOf({ escapes: 'x' }), code: 200 },
  { archive: await zipOf({ fails: 'x' }), code: 500 },
  { archive: await zipOf({ data: 'x' }), code: 200 },
];
/** One that holds the pipes is waited for a second. */
const kindOf = (n: number): Kind => (n % 50 === 0 ? HOLDS : (KINDS[n % KINDS.length] ?? HOLDS));
const url = (n: number): string => `${app.endpoints.handler}/job/job-${n}`;

async function job(n: number): Promise<void> {
  const { archive, code } = kindOf(n);
  const registered = await fetch(url(n), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ projects: ['AlphaDB'], owner: 100 + n, name: `Job ${n}` }),
  });
  if (registered.status !== 204) throw new Error(`PUT ${n}: ${registered.status}`);
  const response = await fetch(url(n), {
    method: 'POST',
    headers: { 'content-type': 'application/zip' },
    body: archive,
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.status !== code) throw new Error(`POST ${n}: ${response.status} ${bytes}`);
  if (response.status === 200) await untar(bytes);
}

async function jobs(from: number, to: number, atOnce: number): Promise<void> {
  let next = from;
  const runner = async (): Promise<void> => {
    while (next < to) await job(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, runner));
}

interface Open {
  /** Files and folders, by their paths. */
  readonly files: readonly string[];
  /** Pipes, and what waits for events. */
  readonly others: number;
  readonly threads: number;
}

const metrics = async (): Promise<string> => (await fetch(`${app.endpoints.handler}/metrics`)).text();

/** What the program has open; sockets come and go with their peers. */
async function open(): Promise<Open> {
  const [, threads] = /^longshore_worker_threads\{kind="shared"\} (\d+)$/m.exec(await metrics()) ?? [];
  const at = `/proc/${app.endpoints.pid}/fd`;
  const targets = readdirSync(at)
    .flatMap((fd) => {
      try {
        return [readlinkSync(join(at, fd))];
      } catch {
        return []; // closed meanwhile
      }
    })
    .filter((target) => !target.startsWith('socket:'));
  const files = targets.filter((target) => target.startsWith('/')).sort();
  return { files, others: targets.length - files.length, threads: Number(threads) };
}

/** Children of the program that have ended and that it did not wait for. */
const zombies = (): readonly string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      const [, state, parent] = /\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
      return state === 'Z' && Number(parent) === app.endpoints.pid;
    } catch {
      return false;
    }
  });

const scratch = join(dir, 'scratch', 'handler');

t.test(`${JOBS} jobs leave no folder, no process and no descriptor`, async (t) => {
  await jobs(0, CROWD, CROWD_AT_ONCE);
  const before = await open();
  await jobs(CROWD, CROWD + JOBS, AT_ONCE);
  t.strictSame(await readdir(join(scratch, 'work')), []);
  t.strictSame(processesBelow(scratch), []);
  t.strictSame(zombies(), []);
  const after = await open();
  t.strictSame(after.files, before.files);
  const [more, begun] = [after.others - before.others, after.threads - before.threads];
  t.ok(more <= OF_A_THREAD * begun, `${more} pipes and others more, with ${begun} threads more`);
  const records = await readdir(join(scratch, 'running'));
  const completed = Array.from({ length: CROWD + JOBS }, (_, n) => kindOf(n)).filter(({ code }) => code === 200).length;
  t.equal(records.length, 1, 'one file for the process');
  t.ok(statSync(join(scratch, 'running', records[0] ?? '')).size <= CROWD_AT_ONCE * 256, 'that does not grow');
  t.match(await metrics(), `longshore_handler_jobs_total{outcome="completed"} ${completed}\n`);
  t.equal(await app.stop(), 0);
  t.strictSame(processesBelow(dir), []);
});
