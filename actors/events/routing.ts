// Which lanes a change of the object store concerns (docs/design/decisions.md#from-a-change-to-a-job). Pure.

import type { EventLaneName, ObjectChange } from '../../engine/model/event.ts';
import { type DatasetAddress, type ObjectKey, parseKey } from '../../engine/model/object-key.ts';

export type Route =
  | { readonly kind: 'lanes'; readonly at: DatasetAddress; readonly lanes: readonly EventLaneName[] }
  /** Known, and no lane acts on it. */
  | { readonly kind: 'ignored' }
  /** Not recognized: counted and acknowledged. */
  | { readonly kind: 'unknown' };

export function routeChange(change: ObjectChange): Route {
  const key = parseKey(change.key);
  if (key === 'foreign') return { kind: 'ignored' };
  if (key === undefined || key.kind === 'unknown') return { kind: 'unknown' };
  const lanes = change.kind === 'created' ? lanesForCreated(key) : lanesForRemoved(key);
  return lanes.length === 0
    ? { kind: 'ignored' }
    : { kind: 'lanes', at: { owner: key.owner, dataset: key.dataset }, lanes };
}

function lanesForCreated(key: ObjectKey): readonly EventLaneName[] {
  switch (key.kind) {
    case 'share':
      return ['sharing'];
    case 'file':
      return key.folder === 'datasetProperties' ? ['updateMeta'] : [];
    case 'object':
      switch (key.object) {
        case 'vdi-meta.json':
          // Replication may deliver the metadata last, so an import may be waiting for it.
          return ['updateMeta', 'import'];
        case 'import-ready.zip':
          return ['import'];
        case 'install-ready.zip':
          return ['install'];
        case 'delete-flag':
        case 'revised-flag':
          return ['softDelete'];
        case 'vdi-manifest.json':
        case 'upload-error.json':
          return [];
        default:
          return key satisfies never;
      }
    case 'unknown':
      return [];
    default:
      return key satisfies never;
  }
}

function lanesForRemoved(key: ObjectKey): readonly EventLaneName[] {
  if (key.kind === 'file') return key.folder === 'datasetProperties' ? ['updateMeta'] : [];
  if (key.kind === 'share') return ['sharing']; // an offer or receipt was withdrawn
  if (key.kind !== 'object') return [];
  if (key.object === 'delete-flag') return ['reconciliation']; // undelete
  return key.object === 'vdi-meta.json' ? ['hardDelete'] : [];
}
