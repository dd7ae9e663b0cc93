// M20: what the supervisor of `longshore up` holds in memory when there is nothing to do, with the lanes of the default
// configuration and all front ends; and how long its event loop keeps others waiting while gigabytes are uploaded.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { fetch } from 'undici';
import { localToken } from '../../bin/cli/local-token.ts';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { detailsOf } from '../support/api.ts';
import { freePortBase } from '../support/longshore.ts';
import { openedOnce } from './opened-once.ts';
import type { BenchRow, Round } from './row.ts';
import { builtBinary, emptyDir, FROM_SOURCE, type ProgramArgv, StartedUp } from './started-up.ts';

/** What was needed at start has gone by then. */
const IDLE_MS = 20_000;
/** Delays are told of so long a time or more. */
const WINDOW_MS = 10_500;
const MIB = 1024 ** 2;
/** Of the largest request that the default configuration takes. */
const UPLOAD_MIB = 1000;
const BOUNDARY = 'longshore-bench';
const block = randomBytes(MIB);

const binary = openedOnce(async () => {
  const dir = await emptyDir();
  return { argv: await builtBinary(dir.path), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
});
export const close = (): Promise<void> => binary.close();

export const rows: readonly BenchRow[] = [
  row('a', 'from source', async () => FROM_SOURCE),
  row('b', 'the executable', async () => (await binary.get()).argv),
];

function row(letter: string, what: string, program: () => Promise<ProgramArgv>): BenchRow {
  return {
    id: `M20${letter}`,
    title: `resident memory of the idle supervisor, and its event loop under uploads of 1,000 MiB, ${what}`,
    unit: 'MB',
    better: 'lower',
    sides: { bare: { is: 'limit', what: 'a Node.js process that does nothing' } },
    bars: [{ atMost: 200 }, { of: 'loopP99', atMost: 20, unit: 'ms' }],
    async measure(rounds) {
      const argv = await program();
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) measured.push({ ...(await round(argv)), bare: await bareMb() });
      return measured;
    },
  };
}

async function round(argv: ProgramArgv): Promise<Round> {
  await using dir = await emptyDir();
  const data = join(dir.path, 'data');
  await using app = await StartedUp.start(argv, data, await freePortBase());
  await setTimeout(IDLE_MS);
  const ours = app.residentMb;
  const { installer } = await app.endpoints();
  const token = await localToken(dataDir(data), { user: '4242', guest: false });
  const idleP99 = await loopP99(installer);
  const begun = performance.now();
  let uploads = 0;
  do {
    await upload(installer, token);
    uploads++;
  } while (performance.now() - begun < WINDOW_MS);
  return { ours, loopP99: await loopP99(installer), idleP99, uploads, underLoad: app.residentMb };
}

/** Of the same Node.js. */
async function bareMb(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'console.log(); process.stdin.resume()'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  child.stdin.end();
  await once(child, 'exit');
  return (Number(kb) * 1024) / 1e6;
}

/** Milliseconds, of the time since it was asked last. */
async function loopP99(server: string): Promise<number> {
  const text = await (await fetch(`${server}/metrics`)).text();
  const [, seconds] = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text) ?? [];
  if (seconds === undefined) throw new Error('the event-loop delay is not told');
  return Number(seconds) * 1000;
}

async function upload(server: string, token: string): Promise<void> {
  const sending = request(`${server}/datasets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  });
  const answered = new Promise<number>((resolve, reject) => {
    sending.once('error', reject);
    sending.once('response', (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
  });
  await Promise.all([pipeline(multipart(), sending), answered]);
  if ((await answered) !== 202) throw new Error(`an upload was answered ${await answered}`);
}

function* multipart(): Generator<Buffer> {
  const details = JSON.stringify(detailsOf('lightweight'));
  yield Buffer.from(
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="details"\r\ncontent-type: application/json\r\n\r\n${details}\r\n` +
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="dataFile"; filename="big.bin"\r\n\r\n`,
  );
  for (let i = 0; i < UPLOAD_MIB; i++) yield block;
  yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
}
