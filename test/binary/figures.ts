// node test/binary/figures.ts: measures the executable of dist/ and prints what was found beside what is wanted. Values
// describe the machine and the day, so they decide nothing here.

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { freePortBase } from '../support/longshore.ts';
import { plainUser } from './plain-user.ts';

const HELP_RUNS = 5;
/** Threads that were needed at start have gone by then. */
const IDLE_MS = 15_000;

await using ends = new AsyncDisposableStack();
const user = await plainUser({ teardown: (end) => ends.defer(async () => void (await end())) });

const helps: number[] = [];
for (let i = 0; i < HELP_RUNS; i++) helps.push(await timed(() => user.run(['--help'])));
print('longshore --help', helps.toSorted((a, b) => a - b)[Math.floor(HELP_RUNS / 2)] ?? 0, 'ms', 200);

const begun = performance.now();
const child = user.start(['up', '--data', 'data', '--port-base', String(await freePortBase())]);
const ended = once(child, 'close');
child.stdout?.resume();
if (!child.stderr) throw new Error('standard error is not piped');
for await (const line of createInterface({ input: child.stderr })) if (/^ready\b/.test(line)) break;
print('longshore up, ready from nothing', (performance.now() - begun) / 1000, 's', 5);

const { promise, resolve } = Promise.withResolvers<void>();
setTimeout(resolve, IDLE_MS);
await promise;
const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
print('resident memory when idle', Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024, 'MB', 250);

const stopped = await timed(async () => {
  child.kill('SIGTERM');
  await ended;
});
print('SIGTERM to exit when idle', stopped / 1000, 's', 2);

function print(what: string, found: number, unit: string, wanted: number): void {
  const digits = unit === 's' ? 2 : 0;
  console.log(
    `${what.padEnd(36)}${found.toFixed(digits).padStart(8)} ${unit.padEnd(3)} (at most ${wanted} ${unit} wanted)`,
  );
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}
