// Every call that making a report takes, with the process ended there, the call failing, or its answer lost: in the end
// there is the report of one attempt and nothing else.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { idOf, signal } from '../../conformance/report-world.ts';
import { type Fault, FaultGate } from '../../support/fault-gate.ts';
import { CONTENT, pass, reportWorld } from './report-world.ts';

const TURNS = 5_000;
const STEP_MS = 100;
const LEASE_MS = 30_000;
const CALLS = [
  'queue.completeAndFetch',
  'queries.find',
  'databases.fingerprint',
  'queries.putArchive',
  'runner.run',
  'databases.fingerprint',
  'archives.zip',
  'store.put',
  'store.put',
  'queue.completeAndFetch',
];

/** The calls up to the end; the job is complete then, and what is left is checked. */
async function history(t: Test, fault: Fault, number: number): Promise<readonly string[]> {
  const world = await reportWorld(t);
  const { clock, table } = world;
  let crashed = false;
  const gate = new FaultGate(fault, number, () => {
    crashed = true;
    first.die();
    first.lane.kill();
  });
  const first = world.process(1, gate);
  const living = [first];
  let renewedAt = clock.now();
  await world.submit();
  await first.lane.start(signal).catch((error: unknown) => {
    if (!crashed) throw error;
  });
  for (let turn = 0; (await world.job())?.status !== 'complete'; turn++) {
    if (turn === TURNS) throw new Error(`${fault} at ${number}: the job is ${(await world.job())?.status}`);
    if (crashed && living.length === 1) {
      living.push(world.process(2));
      await living[1]?.lane.start(signal);
    }
    await pass(clock, STEP_MS);
    // The time of a lease passes that nobody knows to have.
    if (living.some(({ lane }) => lane.held().length > 0)) renewedAt = clock.now();
    if (clock.now() - renewedAt >= LEASE_MS) for (const row of table.rows.values()) row.lapsed = true;
  }
  const calls = [...gate.calls];
  for (const { lane } of living) {
    const stopped = lane.stop(clock.now() + 10_000);
    await clock.advance(10_000);
    await stopped;
  }
  await world.sweep();
  t.strictSame(await world.sweep(), { expired: 0, cleaned: 0 });
  const attempt = (await world.job())?.attempt ?? 0;
  const keys = ['report.tsv', 'report.zip'].map((name) => `reports/${idOf(1)}/${attempt}/${name}`);
  t.strictSame(world.store.keys(), keys, `${fault} at ${number}, ${calls[number - 1]}`);
  t.equal(world.text(attempt, 'report.tsv'), CONTENT);
  if (!crashed) t.strictSame(await readdir(join(world.root, 'process-1')).catch(() => []), []);
  return calls;
}

t.test('a report takes these calls', async (t) => {
  t.strictSame(await history(t, 'fail', 0), CALLS);
});

for (const fault of ['crash', 'fail', 'mute'] as const)
  t.test(
    `a report is made whole whatever call it is that ${fault === 'crash' ? 'is the last' : `is to ${fault}`}`,
    async (t) => {
      for (let number = 1; number <= CALLS.length; number++) {
        const calls = await history(t, fault, number);
        t.strictSame(calls.slice(0, number), CALLS.slice(0, number));
      }
    },
  );
