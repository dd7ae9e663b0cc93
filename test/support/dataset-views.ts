// A dataset as the fakes of the catalog and of the control schema hold it, for whole comparisons: versions of objects
// as `current`, `stale` or `none`, and no times. What is about shares is left out of a database that knows of none and
// reflects that there are none.

import {
  combinedVersion,
  NO_SHARES,
  sameVersion,
  sharesVersion,
  versionOf,
} from '../../actors/dataset/dataset-versions.ts';
import { propertyFiles } from '../../actors/dataset/site-targets.ts';
import { storedShares } from '../../actors/dataset/stored-documents.ts';
import type { UserId } from '../../engine/model/ids.ts';
import { type DatasetAddress, objectKey } from '../../engine/model/object-key.ts';
import type { ObjectVersion, StoredShare } from '../../engine/ports/catalog.ts';
import type { InstallMessage } from '../../engine/ports/install-target.ts';
import type { FakeDataset } from '../fakes/fake-catalog.ts';
import type { FakeControlSchema } from '../fakes/fake-install-target.ts';
import type { FakeObjectStore } from '../fakes/fake-object-store.ts';

const never = new AbortController().signal;

/** Versions and digests of documents and property files are known to one catalog and not to another. */
function filesOf(files: FakeDataset['files']): FakeDataset['files'] {
  const plain = (folder: 'document' | 'property') =>
    files[folder] && { [folder]: files[folder].map(({ name, size }) => ({ name, size })) };
  return { ...files, ...plain('document'), ...plain('property') };
}

/** What the catalog says, without what never changes. */
export async function recordView(dataset: FakeDataset, store: FakeObjectStore): Promise<object> {
  const { state, upload, import: imported, installs, files, sync } = dataset;
  const now = await versionsOf(store, dataset);
  return {
    state,
    upload: { status: upload.status, message: upload.message },
    import: imported,
    // An absent row reads `queued`.
    installs: Object.fromEntries(
      installs
        .filter(({ status, messages }) => status !== 'queued' || messages.length > 0)
        .map(({ target, kind, status, messages }) => [`${target} ${kind}`, [status, ...messages]]),
    ),
    files: filesOf(files),
    ...sharesOf(dataset.shares),
    sync: {
      meta: ageOf(sync.meta, now.meta),
      data: ageOf(sync.data, now.data),
      ...sharesAge(sync.shares, now.shares),
    },
  };
}

/** What the control schema says, by target. */
export async function controlView(
  schema: FakeControlSchema,
  at: DatasetAddress,
  store: FakeObjectStore,
): Promise<Record<string, object>> {
  const now = await versionsOf(store, at);
  const row = schema.rows.get(at.dataset);
  const targets = [...(row?.targets ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  const views = targets.map(([id, { document, state }]) => {
    const { data, meta } = state.messages;
    const view = {
      data: wordsOf(data),
      meta: wordsOf(meta),
      shown: document.showVisibility,
      ...(state.deletedStatus === 0 ? {} : { deleted: state.deletedStatus }),
      name: document.metadata.name,
      ...othersOf(row?.visibleTo, document.owner),
      sync: {
        data: ageOf(state.sync.data, now.data),
        meta: ageOf(state.sync.meta, now.combined),
        ...sharesAge(state.sync.shares, now.shares),
      },
    };
    return [id, view] as const;
  });
  return Object.fromEntries(views);
}

async function versionsOf(
  store: FakeObjectStore,
  at: DatasetAddress,
): Promise<Record<'meta' | 'data' | 'combined', ObjectVersion | undefined> & { readonly shares: ObjectVersion }> {
  const meta = await store.head(objectKey(at, 'vdi-meta.json'), never);
  const data = await store.head(objectKey(at, 'install-ready.zip'), never);
  const combined = meta && combinedVersion(versionOf(meta), await propertyFiles(store, at, never));
  const shares = sharesVersion(await storedShares(store, at, never));
  return { meta: meta && versionOf(meta), data: data && versionOf(data), combined, shares };
}

/** `{recipient}: offer receipt`, each `-` while it is not said. */
function sharesOf(shares: readonly StoredShare[]): { readonly shares?: Readonly<Record<string, string>> } {
  if (shares.length === 0) return {};
  const words = shares.map(({ recipient, offer = '-', receipt = '-' }) => [recipient, `${offer} ${receipt}`] as const);
  return { shares: Object.fromEntries(words) };
}

/** Who sees the dataset besides its owner, once it is shown. Targets of one schema share that. */
function othersOf(
  visibleTo: ReadonlySet<UserId> = new Set(),
  owner: UserId,
): { readonly visibleTo?: readonly UserId[] } {
  const others = [...visibleTo].filter((user) => user !== owner);
  return others.length === 0 ? {} : { visibleTo: others.sort() };
}

function sharesAge(known: ObjectVersion | undefined, stored: ObjectVersion): { readonly shares?: string } {
  const none = stored.etag === NO_SHARES.etag && (known === undefined || known.etag === NO_SHARES.etag);
  return none ? {} : { shares: ageOf(known, stored) };
}

/** Status and message; an absent row reads `queued`. */
function wordsOf(message: InstallMessage | undefined): readonly string[] {
  if (!message) return ['queued'];
  return message.message === undefined ? [message.status] : [message.status, message.message];
}

function ageOf(version: ObjectVersion | undefined, current: ObjectVersion | undefined): string {
  if (!version) return 'none';
  return sameVersion(version, current) ? 'current' : 'stale';
}
