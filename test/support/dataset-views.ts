// A dataset as the fakes of the catalog and of the control schema hold it, for whole comparisons: versions of objects
// as `current`, `stale` or `none`, and no times.

import { combinedVersion, sameVersion, versionOf } from '../../actors/dataset-versions.ts';
import { propertyFiles } from '../../actors/site-targets.ts';
import { type DatasetAddress, objectKey } from '../../engine/model/object-key.ts';
import type { ObjectVersion } from '../../engine/ports/catalog.ts';
import type { InstallMessage } from '../../engine/ports/install-target.ts';
import type { FakeDataset } from '../fakes/fake-catalog.ts';
import type { FakeControlSchema } from '../fakes/fake-install-target.ts';
import type { FakeObjectStore } from '../fakes/fake-object-store.ts';

const never = new AbortController().signal;

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
    files,
    sync: { meta: ageOf(sync.meta, now.meta), data: ageOf(sync.data, now.data) },
  };
}

/** What the control schema says, by target. */
export async function controlView(
  schema: FakeControlSchema,
  at: DatasetAddress,
  store: FakeObjectStore,
): Promise<Record<string, object>> {
  const now = await versionsOf(store, at);
  const targets = [...(schema.rows.get(at.dataset)?.targets ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  const views = targets.map(([id, { document, state }]) => {
    const { data, meta } = state.messages;
    const view = {
      data: wordsOf(data),
      meta: wordsOf(meta),
      shown: document.showVisibility,
      name: document.metadata.name,
      sync: { data: ageOf(state.sync.data, now.data), meta: ageOf(state.sync.meta, now.combined) },
    };
    return [id, view] as const;
  });
  return Object.fromEntries(views);
}

async function versionsOf(
  store: FakeObjectStore,
  at: DatasetAddress,
): Promise<Record<'meta' | 'data' | 'combined', ObjectVersion | undefined>> {
  const meta = await store.head(objectKey(at, 'vdi-meta.json'), never);
  const data = await store.head(objectKey(at, 'install-ready.zip'), never);
  const combined = meta && combinedVersion(versionOf(meta), await propertyFiles(store, at, never));
  return { meta: meta && versionOf(meta), data: data && versionOf(data), combined };
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
