// What every InstallTarget does.

import type { Test } from 'tap';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { ControlDocument, ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import { fullMetadataOf, newAddress, newUser } from '../support/dataset-samples.ts';

export interface InstallTargetSetup {
  /** Two targets that share one control schema. */
  readonly target: InstallTarget;
  readonly neighbour: InstallTarget;
  /** Users to whom the target's site shows the dataset, ascending as text. */
  readonly shownTo: (target: InstallTarget, dataset: DatasetId) => Promise<readonly UserId[]>;
}

const ABSENT: ControlState = { present: false, type: undefined, deletedStatus: 0, messages: {}, sync: {} };
const PRESENT: ControlState = { ...ABSENT, present: true, type: { name: 'genelist', version: '1.0' } };

export function installTargetConformance(t: Test, setup: (t: Test) => Promise<InstallTargetSetup>): void {
  const signal = new AbortController().signal;
  const version = { modified: new Date('2026-03-04T05:06:07.089Z'), etag: 'abc' };

  const open = async (t: Test) => {
    const { target, neighbour, shownTo } = await setup(t);
    const at = newAddress();
    const document: ControlDocument = {
      ...at,
      metadata: fullMetadataOf(at.owner, at.dataset),
      category: 'Gene List',
      showVisibility: true,
    };
    const install = async (on = target, token = 5) => {
      await on.write(at.dataset, { document }, token, signal);
      await on.write(at.dataset, { messages: { meta: { status: 'complete' } } }, token, signal);
      await on.write(at.dataset, { messages: { data: { status: 'complete' } } }, token, signal);
    };
    const state = (on = target) => on.state(at.dataset, signal);
    return { target, neighbour, shownTo: (on = target) => shownTo(on, at.dataset), ...at, document, install, state };
  };
  /** The times that the target chose itself are checked to be times, and left out. */
  const timeless = (t: Test, state: ControlState) => ({
    ...state,
    messages: Object.fromEntries(
      Object.entries(state.messages).map(([kind, { updated, ...message }]) => {
        t.ok(updated.getTime() > 0);
        return [kind, message];
      }),
    ),
  });

  t.test('a dataset that was never written is absent', async (t) => {
    const { state, shownTo } = await open(t);
    t.strictSame(await state(), ABSENT);
    t.same(await shownTo(), []);
  });

  t.test('a written dataset is present, and shown to its owner once both installs are complete', async (t) => {
    const { target, owner, dataset, document, state, shownTo } = await open(t);
    await target.write(dataset, { document }, 5, signal);
    t.strictSame(await state(), PRESENT);
    await target.write(dataset, { messages: { meta: { status: 'complete', version } } }, 5, signal);
    t.same(await shownTo(), []);
    await target.write(
      dataset,
      { messages: { data: { status: 'failed-validation', message: 'no\0gene' } } },
      5,
      signal,
    );
    t.same(await shownTo(), []);
    await target.write(dataset, { messages: { data: { status: 'complete', version } } }, 5, signal);
    t.same(await shownTo(), [owner]);
    t.strictSame(timeless(t, await state()), {
      ...PRESENT,
      messages: { meta: { status: 'complete', message: undefined }, data: { status: 'complete', message: undefined } },
      sync: { meta: version, data: version },
    });
  });

  t.test('the first rows are written where there are none, each target for itself', async (t) => {
    const { target, neighbour, dataset, document, state } = await open(t);
    const change = { document, messages: { data: { status: 'running' } } } as const;
    t.equal(await target.begin(dataset, change, 5, signal), true);
    const running = { ...PRESENT, messages: { data: { status: 'running', message: undefined } } };
    t.strictSame(timeless(t, await state()), running);
    t.strictSame(await state(neighbour), ABSENT);
    t.equal(await neighbour.begin(dataset, change, 5, signal), true);
    t.strictSame(timeless(t, await state(neighbour)), running);
    await target.write(dataset, { messages: { data: { status: 'complete' } } }, 5, signal);
    t.equal(await target.begin(dataset, change, 6, signal), false);
    t.match(await state(), { messages: { data: { status: 'complete' } } }, 'nothing is written over');
    await t.rejects(
      target.begin(dataset, change, 4, signal),
      { kind: 'aborted', message: /lease lost/ },
      'nor under a lower token',
    );
    await target.purge(dataset, 6, signal);
    await t.rejects(
      target.begin(dataset, change, 4, signal),
      { kind: 'aborted', message: /lease lost/ },
      'nor under one of a neighbor',
    );
    t.equal(await target.begin(dataset, change, 6, signal), true);
  });

  t.test('rows and the statuses of both kinds are written at once', async (t) => {
    const { target, neighbour, owner, dataset, document, state, shownTo } = await open(t);
    const hidden = { ...document, showVisibility: false };
    await target.write(dataset, { document: hidden, messages: { data: { status: 'running' } } }, 5, signal);
    t.strictSame(timeless(t, await state()), {
      ...PRESENT,
      messages: { data: { status: 'running', message: undefined } },
    });
    const next = { data: { status: 'complete', message: 'odd', version }, meta: { status: 'running' } } as const;
    await target.write(dataset, { messages: next }, 5, signal);
    t.strictSame(timeless(t, await state()), {
      ...PRESENT,
      messages: { data: { status: 'complete', message: 'odd' }, meta: { status: 'running', message: undefined } },
      sync: { data: version },
    });
    const other = { ...version, etag: 'def' };
    const last = { meta: { status: 'complete', version: other } } as const;
    await target.write(dataset, { document: { ...document, written: true }, messages: last }, 5, signal);
    t.strictSame(timeless(t, await state()), {
      ...PRESENT,
      messages: { data: { status: 'complete', message: 'odd' }, meta: { status: 'complete', message: undefined } },
      sync: { data: version, meta: other },
    });
    t.same([await shownTo(), await shownTo(neighbour)], [[owner], []]);
  });

  t.test('of rows and statuses with a lower token than the last nothing is written', async (t) => {
    const { target, dataset, document, install, state } = await open(t);
    await install(target, 7);
    const before = await state();
    const metadata = { ...document.metadata, type: { name: 'rnaseq', version: '2' } };
    const change = {
      document: { ...document, metadata },
      messages: { data: { status: 'running', version }, meta: { status: 'queued' } },
    } as const;
    await t.rejects(target.write(dataset, change, 6, signal), { kind: 'aborted', message: /lease lost/ });
    t.strictSame(await state(), before);
    await target.write(dataset, change, 7, signal);
    t.match(await state(), { type: metadata.type, messages: { data: { status: 'running' } }, sync: { data: version } });
  });

  t.test('a message without version leaves the version as it was', async (t) => {
    const { target, dataset, document, state } = await open(t);
    await target.write(dataset, { document }, 5, signal);
    await target.write(dataset, { messages: { data: { status: 'complete', version } } }, 5, signal);
    await target.write(
      dataset,
      { messages: { data: { status: 'ready-for-reinstall', message: 'asked for' } } },
      5,
      signal,
    );
    t.strictSame(timeless(t, await state()), {
      ...PRESENT,
      messages: { data: { status: 'ready-for-reinstall', message: 'asked for' } },
      sync: { data: version },
    });
  });

  t.test('a message that is removed leaves the other kind, the version and the neighbour as they were', async (t) => {
    const { target, neighbour, dataset, install, state } = await open(t);
    await install(target);
    await install(neighbour);
    await target.write(dataset, { messages: { data: { status: 'complete', version } } }, 5, signal);
    const before = await state(neighbour);
    for (const _time of ['first', 'second']) await target.removeMessage(dataset, 'data', 5, signal);
    t.strictSame(timeless(t, await state()), {
      ...PRESENT,
      messages: { meta: { status: 'complete', message: undefined } },
      sync: { data: version },
    });
    t.strictSame(await state(neighbour), before);
  });

  t.test('writing the dataset again keeps messages, versions, deletion and visibilities', async (t) => {
    const { target, owner, dataset, document, install, state, shownTo } = await open(t);
    const friend = newUser();
    await install();
    await target.writeVisibility(dataset, [friend], version, 5, signal);
    await target.setDeleted(dataset, 2, 5, signal);
    const before = await state();
    await target.write(dataset, { document: { ...document, showVisibility: false } }, 6, signal);
    t.strictSame(await state(), before);
    await target.setDeleted(dataset, 0, 6, signal);
    t.same(await shownTo(), [owner, friend].sort());
  });

  t.test('the type is that of the last document, which targets of one schema share, until all is purged', async (t) => {
    const { target, neighbour, dataset, document, state } = await open(t);
    const typed = (name: string, version: string) => ({
      ...document,
      metadata: { ...document.metadata, type: { name, version } },
    });
    await target.write(dataset, { document: typed('rnaseq', '1') }, 5, signal);
    t.strictSame((await state()).type, { name: 'rnaseq', version: '1' });
    t.equal((await state(neighbour)).type, undefined);
    await neighbour.write(dataset, { document: typed('rnaseq', '2') }, 5, signal);
    for (const one of [target, neighbour]) t.strictSame((await state(one)).type, { name: 'rnaseq', version: '2' });
    await target.setDeleted(dataset, 1, 5, signal);
    t.strictSame((await state()).type, { name: 'rnaseq', version: '2' }, 'what is uninstalled keeps it');
    await target.purge(dataset, 5, signal);
    t.equal((await state()).type, undefined);
    t.strictSame((await state(neighbour)).type, { name: 'rnaseq', version: '2' });
  });

  t.test('visibility is replaced as a whole and always includes the owner', async (t) => {
    const { target, owner, dataset, install, state, shownTo } = await open(t);
    const [ann, bob, cay] = [newUser(), newUser(), newUser()];
    await install();
    await target.writeVisibility(dataset, [ann, bob, owner], version, 5, signal);
    t.same(await shownTo(), [ann, bob, owner].sort());
    await target.writeVisibility(dataset, [bob, cay, bob], { ...version, etag: 'next' }, 5, signal);
    t.same(await shownTo(), [bob, cay, owner].sort());
    await target.writeVisibility(dataset, [], version, 5, signal);
    t.same(await shownTo(), [owner]);
    t.strictSame((await state()).sync, { shares: version });
  });

  t.test('a deleted dataset is shown to nobody', async (t) => {
    const { target, owner, dataset, install, state, shownTo } = await open(t);
    await install();
    for (const deletedStatus of [2, 1] as const) {
      await target.setDeleted(dataset, deletedStatus, 5, signal);
      t.equal((await state()).deletedStatus, deletedStatus);
      t.same(await shownTo(), []);
    }
    await target.setDeleted(dataset, 0, 5, signal);
    t.same(await shownTo(), [owner]);
  });

  t.test('a purged dataset is absent; purging again is fine', async (t) => {
    const { target, dataset, install, state } = await open(t);
    await install();
    await target.purge(dataset, 5, signal);
    await target.purge(dataset, 5, signal);
    t.strictSame(await state(), ABSENT);
  });

  t.test('a lower token than the last is refused and changes nothing', async (t) => {
    const { target, dataset, document, install, state } = await open(t);
    await install(target, 5);
    await target.write(dataset, { messages: { data: { status: 'running' } } }, 7, signal);
    const before = await state();
    const lost = { kind: 'aborted', message: /lease lost/ };
    await t.rejects(target.write(dataset, { document }, 6, signal), lost);
    await t.rejects(target.write(dataset, { messages: { data: { status: 'complete', version } } }, 6, signal), lost);
    await t.rejects(target.removeMessage(dataset, 'data', 6, signal), lost);
    await t.rejects(target.writeVisibility(dataset, [newUser()], version, 6, signal), lost);
    await t.rejects(target.setDeleted(dataset, 1, 6, signal), lost);
    await t.rejects(target.purge(dataset, 6, signal), lost);
    t.strictSame(await state(), before);
    await target.setDeleted(dataset, 2, 7, signal);
    t.equal((await state()).deletedStatus, 2, 'the same holder goes on');
  });

  t.test('a dataset that is absent takes no message, visibility or deletion', async (t) => {
    const { target, dataset, state } = await open(t);
    const missing = {
      kind: 'defect',
      message: `dataset ${dataset} has no row in the control schema of install target ${target.id}`,
    };
    await t.rejects(target.write(dataset, { messages: { meta: { status: 'running' } } }, 1, signal), missing);
    await t.rejects(target.removeMessage(dataset, 'meta', 1, signal), missing);
    await t.rejects(target.writeVisibility(dataset, [], version, 1, signal), missing);
    await t.rejects(target.setDeleted(dataset, 1, 1, signal), missing);
    t.strictSame(await state(), ABSENT);
  });

  t.test('targets that share a schema do not overwrite each other', async (t) => {
    const { target, neighbour, owner, dataset, document, install, state, shownTo } = await open(t);
    await Promise.all([install(target), install(neighbour)]);
    await neighbour.write(
      dataset,
      { messages: { data: { status: 'failed-installation', message: 'disk', version } } },
      5,
      signal,
    );
    await target.setDeleted(dataset, 2, 5, signal);
    t.strictSame(timeless(t, await state(target)), {
      ...PRESENT,
      deletedStatus: 2,
      messages: { meta: { status: 'complete', message: undefined }, data: { status: 'complete', message: undefined } },
    });
    t.strictSame(timeless(t, await state(neighbour)), {
      ...PRESENT,
      messages: {
        meta: { status: 'complete', message: undefined },
        data: { status: 'failed-installation', message: 'disk' },
      },
      sync: { data: version },
    });
    await target.purge(dataset, 5, signal);
    t.strictSame(await state(target), ABSENT);
    await neighbour.write(dataset, { messages: { data: { status: 'complete' } } }, 5, signal);
    t.same(await shownTo(neighbour), [owner]);
    await target.write(dataset, { document }, 5, signal);
    t.strictSame(await state(target), PRESENT);
    t.same(await shownTo(target), []);
  });
}
