// What every TargetIndex does.

import type { Test } from 'tap';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { TargetIndex } from '../../engine/ports/catalog.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import { metadataOf, newAddress, newUser } from '../support/dataset-samples.ts';
import { storeOrderConformance } from './store-order.ts';

export interface TargetIndexSetup {
  /** Knows no dataset yet. */
  readonly index: TargetIndex;
  readonly target: InstallTarget;
  /** Shares the control schema. */
  readonly neighbour: InstallTarget;
  readonly neighbours: TargetIndex;
}

export function targetIndexConformance(t: Test, setup: (t: Test) => Promise<TargetIndexSetup>): void {
  const signal = new AbortController().signal;
  const version = { modified: new Date('2026-03-04T05:06:07.089Z'), etag: 'abc' };

  const write = (target: InstallTarget, at: DatasetAddress, more: Parameters<typeof metadataOf>[1] = {}) =>
    target.write(
      at.dataset,
      { document: { ...at, metadata: metadataOf(at.owner, more), category: 'Gene List', showVisibility: true } },
      1,
      signal,
    );
  const all = async (index: TargetIndex) => [...(await index.page(undefined, 1_000, signal))];

  storeOrderConformance(t, async (t) => {
    const { index, target, neighbour } = await setup(t);
    // In between the rows that are asked for.
    for (const dataset of ['a-a', 'aa', 'z']) await write(neighbour, { owner: '1', dataset } as DatasetAddress);
    return {
      index,
      add: (at) => write(target, at),
      remove: ({ dataset }) => target.purge(dataset, 1, signal),
    };
  });

  t.test('a page says of each dataset what the target says of it', async (t) => {
    const { index, target } = await setup(t);
    const owner = newUser();
    const [bare, full] = [newAddress(owner), newAddress(owner)];
    await write(target, bare);
    await write(target, full, { type: { name: 'rnaseq', version: '2.1' } });
    await target.write(full.dataset, { messages: { meta: { status: 'complete', version } } }, 1, signal);
    await target.write(
      full.dataset,
      { messages: { data: { status: 'failed-installation', message: 'disk' } } },
      1,
      signal,
    );
    await target.writeVisibility(full.dataset, [newUser()], { ...version, etag: 'def' }, 1, signal);
    await target.setDeleted(full.dataset, 2, 1, signal);

    const page = await all(index);
    t.equal(page.length, 2);
    const found = (of: DatasetAddress) => page.find(({ dataset }) => dataset === of.dataset);
    t.strictSame(found(bare), { ...bare, control: await target.state(bare.dataset, signal) });
    const updated = found(full)?.control.messages;
    t.strictSame(found(full), {
      ...full,
      control: {
        present: true,
        type: { name: 'rnaseq', version: '2.1' },
        deletedStatus: 2,
        messages: {
          meta: { status: 'complete', message: undefined, updated: updated?.meta?.updated },
          data: { status: 'failed-installation', message: 'disk', updated: updated?.data?.updated },
        },
        sync: { meta: version, shares: { ...version, etag: 'def' } },
      },
    });
    t.strictSame(found(full)?.control, await target.state(full.dataset, signal));
  });

  t.test('datasets of another target of the same schema are not seen, nor its state of a shared one', async (t) => {
    const { index, target, neighbour, neighbours } = await setup(t);
    const [ours, both, theirs] = [newAddress(), newAddress(), newAddress()];
    for (const at of [ours, both]) await write(target, at);
    for (const at of [both, theirs]) await write(neighbour, at);
    await neighbour.write(both.dataset, { messages: { data: { status: 'complete', version } } }, 1, signal);
    await neighbour.setDeleted(both.dataset, 1, 1, signal);
    const fresh = {
      present: true,
      type: { name: 'genelist', version: '1.0' },
      deletedStatus: 0,
      messages: {},
      sync: {},
    };
    const seen = async (one: TargetIndex) => new Map((await all(one)).map((row) => [row.dataset, row.control]));
    t.strictSame(await seen(index), new Map([ours, both].sort(byOwner).map(({ dataset }) => [dataset, fresh])));
    const others = await seen(neighbours);
    t.strictSame(
      [...others.keys()],
      [both, theirs].sort(byOwner).map(({ dataset }) => dataset),
    );
    t.equal(others.get(both.dataset)?.deletedStatus, 1);
    t.strictSame(others.get(both.dataset)?.sync, { data: version });
  });

  t.test('what is purged is gone', async (t) => {
    const { index, target, neighbour, neighbours } = await setup(t);
    const at = newAddress();
    for (const one of [target, neighbour]) await write(one, at);
    await target.purge(at.dataset, 1, signal);
    t.strictSame(await all(index), []);
    t.equal((await all(neighbours)).length, 1);
  });
}

/** Owners of the samples have the same number of digits. */
const byOwner = (a: DatasetAddress, b: DatasetAddress): number => (a.owner < b.owner ? -1 : 1);
