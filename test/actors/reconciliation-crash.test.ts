// Every call of every port goes wrong once while one dataset is reconciled, in each way that there is; whatever happened,
// the end is that of the undisturbed run.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { revisionOf } from '../../engine/model/ids.ts';
import { type DatasetAddress, fileKey, objectKey } from '../../engine/model/object-key.ts';
import { historyOf, newAddress, PLASMO } from '../support/dataset-samples.ts';
import { type Fault, FaultGate } from '../support/fault-gate.ts';
import { claimed } from '../support/lane-start.ts';
import { LaneWorld } from '../support/lane-world.ts';
import { sampled } from '../support/sampled.ts';

const never = new AbortController().signal;
const at = newAddress();
const older = at;
const newer = { owner: at.owner, dataset: revisionOf(at.dataset, 1) };
const ONE_TARGET = { metadata: { installTargets: [PLASMO] } };

/** Brings the world to where a dataset is to be reconciled, and returns it. */
const stories: Readonly<Record<string, (world: LaneWorld) => Promise<DatasetAddress>>> = {
  'an installed dataset that the cache has lost': async (world) => {
    await world.accept({ ...ONE_TARGET, properties: { 'p.tsv': 'x' }, documents: { 'read.me': 'hello' } }, at);
    await world.finish();
    world.dropCache();
    return at;
  },
  'an upload that the cache has lost before it was packed': async (world) => {
    await world.accept(ONE_TARGET, at);
    world.dropCache();
    return at;
  },
  'a deletion that is taken back': async (world) => {
    await world.accept(ONE_TARGET, at);
    await world.finish();
    await world.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
    await world.finish();
    await world.store.remove([objectKey(at, 'delete-flag')], never);
    return at;
  },
  'a successor whose older revision has the wrong flags': async (world) => {
    await world.accept(ONE_TARGET, older);
    await world.finish();
    const metadata = { ...ONE_TARGET.metadata, revisionHistory: historyOf(older.dataset, newer.dataset) };
    await world.accept({ metadata }, newer);
    await world.finish();
    await world.store.remove([objectKey(older, 'revised-flag')], never);
    await world.store.put(objectKey(older, 'delete-flag'), new Uint8Array(), {}, never);
    await world.finish();
    return newer;
  },
  'leavings of an upload and an import that is gone': async (world) => {
    await world.accept(ONE_TARGET, at);
    await world.finish();
    await world.store.put(fileKey(at, 'raw', 'left.txt'), Buffer.from('x'), {}, never);
    await world.store.remove([objectKey(at, 'install-ready.zip')], never);
    return at;
  },
};

const FAULTS: readonly Fault[] = ['crash', 'fail', 'mute'];
/** A crash before a read is one after the write before it, and an answer that is lost had no effect. */
const READS = /\.(find|findWithAttempts|isReceiving|source|get|head|list|attempts|state)$/;
const scratch = await mkdtemp(join(tmpdir(), 'longshore-reconciliation-'));
t.teardown(() => rm(scratch, { recursive: true }));

for (const [name, begin] of Object.entries(stories))
  t.test(name, async (t) => {
    const undisturbed = await tell(begin, 'crash', 0);
    t.ok(undisturbed.calls.length > 5);
    const runs = undisturbed.calls.flatMap((call, i) =>
      (READS.test(call) ? (['fail'] as const) : FAULTS).map((fault) => ({ fault, call, number: i + 1 })),
    );
    for (const { fault, call, number } of sampled(runs, ({ fault, number }) => `${name} ${fault} ${number}`)) {
      const { end, struck } = await tell(begin, fault, number);
      t.strictSame([struck, end], [true, undisturbed.end], `${fault} at ${number}, ${call}`);
    }
  });

/** Only the reconciliation itself is disturbed; other jobs run after it, in another process. */
async function tell(begin: (world: LaneWorld) => Promise<DatasetAddress>, fault: Fault, number: number) {
  const world = new LaneWorld(scratch);
  const dataset = await begin(world);
  world.event('reconciliation', dataset);
  const gate = new FaultGate(fault, number, () => world.leases.kill(process.id));
  const { process, job } = await claimed(world, 'reconciliation', world.process(gate));
  const outcome = await process.perform(job);
  if (world.leases.alive(process.id)) await process.complete(job, outcome);
  const { calls, struck } = gate;
  await world.finish();
  const datasets = [older, newer].filter((one) => world.catalog.datasets.has(one.dataset));
  const end = {
    records: await Promise.all(datasets.map((one) => world.record(one))),
    controls: await Promise.all(datasets.map((one) => world.control(one))),
    keys: datasets.map((one) => world.keys(one)),
    bytes: await world.uploads.usage(at.owner, never),
    source: await world.uploads.source(at.dataset, never),
    jobs: world.jobRows(),
    installed: [...world.plugin.installed].sort(([a], [b]) => (a < b ? -1 : 1)),
  };
  return { end, calls: [...calls], struck };
}
