// The shares that a revision takes over, from the front end that puts them to the sites that show it: nothing is lost,
// although their events come before the dataset is known.

import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { type DatasetId, revisionOf, type UserId } from '../../engine/model/ids.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { StoredShare } from '../../engine/ports/catalog.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { type Logger, silentLogger } from '../../engine/runtime/log.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import {
  keepShares,
  nextHistory,
  shareDocuments,
  tellOfShares,
} from '../../http/installer/uploads/revision-history.ts';
import { UploadSession } from '../../http/installer/uploads/upload-session.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { LaneWorld } from '../support/lane-world.ts';

const never = new AbortController().signal;
const [ANN, BOB] = ['71', '72'] as [UserId, UserId];
const SHARES: readonly StoredShare[] = [
  { recipient: ANN, offer: 'grant', receipt: 'accept' },
  { recipient: BOB, offer: 'grant' },
];
const MIB = 1024 * 1024;

interface Revision {
  readonly world: LaneWorld;
  readonly old: DatasetAddress;
  readonly next: DatasetAddress;
  readonly session: UploadSession;
  readonly documents: ReturnType<typeof shareDocuments>;
  accept(): Promise<void>;
}

/** A dataset that is installed and shared, and its revision on the way in: everything is stored but the metadata. */
async function revision(t: Test): Promise<Revision> {
  const world = new LaneWorld(t.testdir());
  const old = await world.accept();
  for (const share of SHARES) await world.share(old, share);
  await world.finish();
  const next = { owner: old.owner, dataset: revisionOf(old.dataset, 1) };
  const session = new UploadSession(
    next,
    {
      store: world.store,
      uploads: world.uploads,
      eventLog: { nextEventId: async () => 1_000 },
      clock: world.clock,
      log: silentLogger(),
    },
    { maxUploadBytes: MIB, quotaBytes: 1024 * MIB, waitingPerUser: 1_000, announcedBytes: 100 },
  );
  const file = await session.store('raw', 'genes.txt', Readable.from([Buffer.from('PF3D7_0100000\n')]), never);
  const { metadata, shares } = world.dataset(old);
  const documents = shareDocuments(next, shares);
  await keepShares(session, documents, never);
  const accept = async (): Promise<void> => {
    const now = new Date(world.clock.now());
    const revisionHistory = nextHistory({ ...old, metadata }, { dataset: next.dataset, note: 'Better genes', now });
    const source = { kind: 'files', files: [file] } as const;
    await session.accept({ metadata: { ...metadata, revisionHistory }, source, documents: [], properties: [] }, never);
  };
  return { world, old, next, session, documents, accept };
}

/** Who sees the dataset on the sites, and what the cache knows of its shares. */
async function seen({ world }: Revision, at: DatasetAddress) {
  const sites = (await world.control(at)) as Record<string, { shown: boolean; deleted?: number; visibleTo?: UserId[] }>;
  return {
    state: world.dataset(at).state,
    shares: ((await world.record(at)) as { shares?: object }).shares,
    sites: Object.values(sites).map(({ shown, deleted, visibleTo }) => [shown, deleted, visibleTo]),
  };
}
const SHOWN_TO_ANN = {
  state: 'live',
  shares: { [ANN]: 'grant accept', [BOB]: 'grant -' },
  sites: [
    [true, undefined, [ANN]],
    [true, undefined, [ANN]],
  ],
};

for (const [when, between] of [
  ['at once', async () => undefined],
  ['after their events were passed over', async ({ world }: Revision) => world.finish()],
] as const) {
  t.test(`the recipients see the revision in place of the old one, accepted ${when}`, async (t) => {
    const made = await revision(t);
    await between(made);
    await made.accept();
    await tellOfShares(made.documents, { store: made.world.store, clock: made.world.clock, log: silentLogger() });
    await made.world.finish();
    t.strictSame(await seen(made, made.next), SHOWN_TO_ANN);
    t.equal((await seen(made, made.old)).state, 'superseded');
  });
}

t.test('a crash before they are told of is made good by a reconciliation', async (t) => {
  const made = await revision(t);
  await made.world.finish();
  await made.accept();
  await made.world.finish();
  t.strictSame((await seen(made, made.next)).sites, [
    [true, undefined, undefined],
    [true, undefined, undefined],
  ]);
  made.world.event('reconciliation', made.next);
  await made.world.finish();
  t.strictSame(await seen(made, made.next), SHOWN_TO_ANN);
});

t.test('a store that fails, or never answers, holds up nobody who tells of them', async (t) => {
  const clock = new VirtualClock();
  const warnings: unknown[] = [];
  const log = { warn: (fields: { readonly err: Error }) => warnings.push(fields.err.message) } as unknown as Logger;
  const documents = shareDocuments({ owner: ANN, dataset: 'AbCdEfGhIjKlMnOp' as DatasetId }, SHARES);
  const told = (put: ObjectStore['put']): Promise<void> => tellOfShares(documents, { store: { put }, clock, log });
  await told(() => Promise.reject(new Error('disk lost')));
  t.strictSame(warnings, ['disk lost']);
  const silent = told((_key, _bytes, _options, signal) => unlessAborted(new Promise<never>(() => {}), signal));
  await clock.advance(10_000);
  await silent;
  t.strictSame(warnings, ['disk lost', 'not finished within 10000 ms']);
});

t.test('a revision that is given up takes its shares along, and leaves the old one alone', async (t) => {
  const made = await revision(t);
  const before = await seen(made, made.old);
  t.equal(made.world.keys(made.next).length, 4);
  await made.session.abandon();
  await made.world.finish();
  t.strictSame(made.world.keys(made.next), []);
  t.strictSame(await seen(made, made.old), before);
});
