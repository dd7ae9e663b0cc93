// What every TargetIndex does.

import type { Test } from 'tap';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { TargetIndex } from '../../engine/ports/catalog.ts';
import type { ControlMessage, InstallTarget } from '../../engine/ports/install-target.ts';
import { installedState } from '../fakes/fake-dataset-index.ts';
import { metadataOf, newAddress, newUser } from '../support/dataset-samples.ts';
import { paged, storeOrderConformance } from './store-order.ts';

export interface TargetIndexSetup {
  /** Of these targets of the schema, which knows no dataset yet. */
  readonly indexOf: (...targets: readonly InstallTarget[]) => TargetIndex;
  readonly target: InstallTarget;
  /** Shares the control schema. */
  readonly neighbour: InstallTarget;
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
    const { indexOf, target, neighbour } = await setup(t);
    // In between the rows that are asked for.
    for (const dataset of ['a-a', 'aa', 'z']) await write(neighbour, { owner: '1', dataset } as DatasetAddress);
    return {
      index: indexOf(target),
      add: (at) => write(target, at),
      remove: ({ dataset }) => target.purge(dataset, 1, signal),
    };
  });

  t.test('a page says of each dataset what the target says of it', async (t) => {
    const { indexOf, target } = await setup(t);
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

    const page = await all(indexOf(target));
    t.equal(page.length, 2);
    const found = (of: DatasetAddress) => page.find(({ dataset }) => dataset === of.dataset);
    const fresh = { present: true, deletedStatus: 0, messages: {}, sync: {} };
    t.strictSame(found(bare), { ...bare, installs: new Map([[target.id, fresh]]) });
    const state = {
      ...{ present: true, deletedStatus: 2 },
      messages: { meta: { status: 'complete' }, data: { status: 'failed-installation' } },
      sync: { meta: version, shares: { ...version, etag: 'def' } },
    };
    t.strictSame(found(full), { ...full, installs: new Map([[target.id, state]]) });
  });

  t.test('an index of several targets says of each dataset what each of them says', async (t) => {
    const { indexOf, target, neighbour } = await setup(t);
    const later = { ...version, modified: new Date('2026-03-04T05:06:08.000Z') };
    const data = (message: ControlMessage) => (one: InstallTarget, at: DatasetAddress) =>
      one.write(at.dataset, { messages: { data: message } }, 1, signal);
    /** From a fresh row. The last one has none. */
    const ways: readonly ((one: InstallTarget, at: DatasetAddress) => Promise<void>)[] = [
      async () => undefined,
      data({ status: 'complete', version }),
      data({ status: 'complete', version: later }),
      data({ status: 'missing-dependency', message: 'no genome' }),
      (one, at) => one.write(at.dataset, { messages: { meta: { status: 'complete', version } } }, 1, signal),
      (one, at) => one.writeVisibility(at.dataset, [], version, 1, signal),
      (one, at) => one.setDeleted(at.dataset, 1, 1, signal),
      (one, at) => one.purge(at.dataset, 1, signal),
    ];
    for (const here of ways)
      for (const there of ways) {
        const at = newAddress();
        for (const one of [target, neighbour]) await write(one, at);
        await here(target, at);
        await there(neighbour, at);
      }
    const pages = await paged(indexOf(target, neighbour), 7);
    t.equal(pages.flat().length, ways.length ** 2 - 1);
    t.ok(pages.slice(0, -1).every(({ length }) => length === 7));
    for (const { dataset, installs } of pages.flat()) {
      const told = await Promise.all([target, neighbour].map((one) => one.state(dataset, signal)));
      const [ours, theirs] = told.map((state) => (state.present ? installedState(state) : undefined));
      t.strictSame([installs.get(target.id), installs.get(neighbour.id)], [ours, theirs]);
    }
  });

  t.test('datasets of another target of the same schema are not seen, nor its state of a shared one', async (t) => {
    const { indexOf, target, neighbour } = await setup(t);
    const [ours, both, theirs] = [newAddress(), newAddress(), newAddress()];
    for (const at of [ours, both]) await write(target, at);
    for (const at of [both, theirs]) await write(neighbour, at);
    await neighbour.write(both.dataset, { messages: { data: { status: 'complete', version } } }, 1, signal);
    await neighbour.setDeleted(both.dataset, 1, 1, signal);
    const fresh = { present: true, deletedStatus: 0, messages: {}, sync: {} };
    const seen = async (one: InstallTarget) =>
      new Map((await all(indexOf(one))).map(({ dataset, installs }) => [dataset, installs.get(one.id)]));
    t.strictSame(await seen(target), new Map([ours, both].sort(byOwner).map(({ dataset }) => [dataset, fresh])));
    const others = await seen(neighbour);
    t.strictSame(
      [...others.keys()],
      [both, theirs].sort(byOwner).map(({ dataset }) => dataset),
    );
    t.equal(others.get(both.dataset)?.deletedStatus, 1);
    t.strictSame(others.get(both.dataset)?.sync, { data: version });
  });

  t.test('what is purged is gone', async (t) => {
    const { indexOf, target, neighbour } = await setup(t);
    const at = newAddress();
    for (const one of [target, neighbour]) await write(one, at);
    await target.purge(at.dataset, 1, signal);
    t.strictSame(await all(indexOf(target)), []);
    t.equal((await all(indexOf(neighbour))).length, 1);
  });
}

/** Owners of the samples have the same number of digits. */
const byOwner = (a: DatasetAddress, b: DatasetAddress): number => (a.owner < b.owner ? -1 : 1);
