// Many datasets go through lists, a full run, slim runs and a prune, and nothing is lost and nothing is left. What the program
// keeps in memory must not grow with them. Its peak does, for a while, because V8 lets garbage pile up before it collects: that
// is printed, not bounded. test/bench/w7-million.ts puts a million through the same.

import t, { type Test } from 'tap';
import { forgetPeak, peakMib } from '../bench/processes.ts';
import { INSPECTED, type KeptMemory, keptMemory } from '../support/kept-memory.ts';
import { tempDir } from '../support/longshore.ts';
import {
  counts,
  lastRun,
  listed,
  nextSlimRun,
  ordered,
  prune,
  RECONCILE,
  register,
  startScale,
} from '../support/scale-run.ts';

const FEW = 1_000;
const MORE = 4_000;
const LISTS = ['/datasets', '/datasets/community', '/admin/reports/datasets/list-all?limit=-1'];

/** Of 4,000 datasets, 2 KiB each would be more. With none, it is 1 MiB. */
const MOST_HEAP_GROWTH_MIB = 8;
/** Also has the heaps of the worker threads, and what the allocator does not give back. */
const MOST_RSS_GROWTH_MIB = 32;

const site = await startScale(t, await tempDir(t), INSPECTED);
let left = 0;

interface Memory extends KeptMemory {
  /** While the datasets went through. */
  readonly peakMib: number;
}

/** Adds datasets and puts all through everything. */
async function through(t: Test, added: number): Promise<Memory> {
  const { live, deleted } = await register(site, added);
  const all = left + added;
  const { pid } = site.app.endpoints;
  forgetPeak(pid);
  const full = await ordered(site, RECONCILE);
  t.match(full, { listed: all, reconciled: 0, deleted: 0, malformed: 0 }, `a full run of ${all} finds all in step`);
  const slim = await nextSlimRun(site, await lastRun(site.app, RECONCILE));
  t.match(slim, { reconciled: 0, malformed: 0 }, 'so does a slim run');
  for (const path of LISTS) t.ok((await listed(site, path)).count > 0, `${path} lists ${all}`);
  const run = await prune(site);
  t.match(run, { pruned: deleted, failures: 0, skipped: {} }, `${deleted} are pruned`);
  left += live;
  const expected = { store: left, cache: { live: left }, installed: left, onSite: left, jobs: 0, wrongUsages: 0 };
  t.same(await counts(site), expected, 'and nothing else: in the store, in the cache and on the site');
  return { peakMib: peakMib(pid), ...(await keptMemory(site.app)) };
}

t.test(`${FEW} datasets, and ${MORE} more`, async (t) => {
  const few = await through(t, FEW);
  const many = await through(t, MORE);
  t.comment(JSON.stringify([few, many]));
  t.ok(many.heapMib - few.heapMib < MOST_HEAP_GROWTH_MIB, `the heap grew from ${few.heapMib} to ${many.heapMib} MiB`);
  t.ok(many.rssMib - few.rssMib < MOST_RSS_GROWTH_MIB, `the process grew from ${few.rssMib} to ${many.rssMib} MiB`);
});
