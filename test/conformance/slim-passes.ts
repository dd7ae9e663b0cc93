// What every implementation of SlimPasses does.

import type { Test } from 'tap';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { SlimPass, SlimPasses } from '../../engine/ports/slim-passes.ts';

export interface SlimPassesSetup {
  /** Of two processes; no pass was saved yet. */
  readonly first: SlimPasses;
  readonly second: SlimPasses;
}

export function slimPassesConformance(t: Test, setup: (t: Test) => Promise<SlimPassesSetup>): void {
  const signal = new AbortController().signal;
  const after = { owner: '9223372036854775807' as UserId, dataset: 'a.b-C_1' as DatasetId };
  const pass: SlimPass = { after, begunAt: new Date('2026-03-04T05:06:07.089Z'), compared: 10_001, expected: 2 ** 40 };

  t.test('no pass is known before one was saved', async (t) => {
    const { first } = await setup(t);
    t.equal(await first.load(signal), undefined);
  });

  t.test('another process continues a pass exactly where it was', async (t) => {
    const { first, second } = await setup(t);
    await first.save(pass, signal);
    t.strictSame(await second.load(signal), pass);
  });

  t.test('the pass that was saved last counts, also one that has just begun', async (t) => {
    const { first, second } = await setup(t);
    await first.save(pass, signal);
    const next: SlimPass = { after: undefined, begunAt: new Date(0), compared: 0, expected: 0 };
    await second.save(next, signal);
    t.strictSame(await first.load(signal), next);
  });

  t.test('an aborted signal neither loads nor saves', async (t) => {
    const { first } = await setup(t);
    await t.rejects(first.save(pass, AbortSignal.abort()), { name: 'AbortError' });
    await t.rejects(first.load(AbortSignal.abort()), { name: 'AbortError' });
    t.equal(await first.load(signal), undefined);
  });
}
