// Many datasets go through lists, a full run, slim runs and a prune, and nothing is lost and nothing is left. The test prints
// the program's peak memory but does not bound it. test/bench/w7-million.ts puts a million through the same.

import t, { type Test } from 'tap';
import { forgetPeak, peakMib } from '../bench/processes.ts';
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

const site = await startScale(t, await tempDir(t));
let left = 0;

/** Adds datasets and puts all through everything. Returns the most memory that the program had meanwhile. */
async function through(t: Test, added: number): Promise<number> {
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
  return peakMib(pid);
}

t.test(`${FEW} datasets, and ${MORE} more`, async (t) => {
  const few = await through(t, FEW);
  const many = await through(t, MORE);
  t.comment(`${few.toFixed(0)} MiB, then ${many.toFixed(0)} MiB`);
});
