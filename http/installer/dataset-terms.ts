// Terms that several responses share, with how stored values are shown in them: ids, data type, visibility, times, status
// block (docs/contract/installer.md#shared-types).

import type { Static } from 'typebox';
import type { DataTypes } from '../../engine/model/data-types.ts';
import { DATASET_ID_TEXT, type DatasetId, type TargetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata, DatasetType } from '../../engine/model/metadata.ts';
import {
  IMPORT_STATUSES,
  INSTALL_STATUSES,
  type InstallKind,
  UPLOAD_STATUSES,
  type Visibility,
} from '../../engine/model/status.ts';
import type { DatasetRecord, InstallRecord } from '../../engine/ports/catalog.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RouteParameter } from '../kernel/pipeline/route.ts';
import { VISIBILITIES } from './metadata/create-details.ts';

export const VdiId = Type.Unsafe<DatasetId>({ type: 'string', pattern: '^[a-zA-Z0-9_-]+$', title: 'DatasetId' });
/** In requests. Ids that another installer assigned may contain dots. */
export const DatasetIdInput = Type.Unsafe<DatasetId>({
  type: 'string',
  pattern: `^${DATASET_ID_TEXT}$`,
});
export const InstallTargetIdOutput = Type.Unsafe<TargetId>({
  type: 'string',
  minLength: 5,
  maxLength: 32,
  title: 'InstallTargetId',
});
export const InstallTargetIds = Type.Array(InstallTargetIdOutput, { uniqueItems: true });
export const Datetime = Type.String({ format: 'date-time' });
export const VisibilityOutput = Type.Enum([...VISIBILITIES], { title: 'Visibility' });

export const DatasetTypeOutput = Type.Named('DatasetType', {
  name: Type.String({ minLength: 3 }),
  version: Type.String({ minLength: 1 }),
  category: Type.String({ minLength: 3 }),
});
export type DatasetTypeOutput = Static<typeof DatasetTypeOutput>;

const InstallState = Type.Named('InstallState', {
  status: Type.Enum([...INSTALL_STATUSES]),
  messages: Type.Optional(Type.Array(Type.String())),
});

/**
 * `import` is always there: queued until it begins, also when the upload was refused. `install` is empty until the import is
 * complete. Callers that name no version are not shown what is queued ({@link statusBlock}).
 */
export const StatusBlock = Type.Named('StatusBlock', {
  upload: Type.Object({ status: Type.Enum([...UPLOAD_STATUSES]), message: Type.Optional(Type.String()) }),
  import: Type.Object({
    status: Type.Enum([...IMPORT_STATUSES]),
    messages: Type.Optional(Type.Array(Type.String())),
  }),
  install: Type.Array(
    Type.Object({ installTarget: InstallTargetIdOutput, meta: InstallState, data: Type.Optional(InstallState) }),
  ),
});
export type StatusBlock = Static<typeof StatusBlock>;

/** The dataset's id in a path. */
export const datasetParam: Readonly<Record<'id', RouteParameter>> = {
  id: { description: 'The dataset', schema: { ...VdiId } },
};

/** A type that is no longer registered shows its name as category. */
export function typeView(type: DatasetType, dataTypes: DataTypes): DatasetTypeOutput {
  return { name: type.name, version: type.version, category: dataTypes.find(type)?.category ?? type.name };
}

/** `controlled` is protected with 0 days for approval (docs/contract/installer.md#shared-types). */
export function visibilityView(metadata: Pick<DatasetMetadata, 'visibility' | 'daysForApproval'>): Visibility {
  return metadata.visibility === 'protected' && metadata.daysForApproval === 0 ? 'controlled' : metadata.visibility;
}

type InstallEntry = StatusBlock['install'][number];
type ShownState = InstallEntry['meta'];

/**
 * The status block (docs/contract/installer.md#status-block) as every answer shows it. Installs are shown once the import is
 * complete. An install that the mirror does not know yet is queued.
 *
 * Deployed clients that send no `Api-Version` do not know the status `queued` and reject the whole answer if it occurs in an
 * install. They get an entry once a part of it has begun, without `data` while that is queued. `meta` is required: while it
 * is queued it shows the progress of the data that it waits for.
 * @param versionNamed the request names its interface version, so the client knows all statuses
 */
export function statusBlock(
  dataset: Pick<DatasetRecord, 'upload' | 'import'>,
  targets: readonly TargetId[],
  installs: readonly InstallRecord[],
  versionNamed: boolean,
): StatusBlock {
  const { upload, import: imported } = dataset;
  const shown = imported?.status === 'complete' ? targets : [];
  return {
    upload: { status: upload.status, ...(upload.message === undefined ? {} : { message: upload.message }) },
    import: {
      status: imported?.status ?? 'queued',
      ...(imported && imported.messages.length > 0 ? { messages: [...imported.messages] } : {}),
    },
    install: shown.flatMap((installTarget) => {
      const meta = installState(installTarget, 'meta', installs);
      const data = installState(installTarget, 'data', installs);
      return versionNamed ? [{ installTarget, meta, data }] : begunEntry(installTarget, meta, data);
    }),
  };
}

/** The entry without the status `queued`; none when nothing has begun. */
function begunEntry(installTarget: TargetId, meta: ShownState, data: ShownState): readonly InstallEntry[] {
  if (data.status === 'queued') return meta.status === 'queued' ? [] : [{ installTarget, meta }];
  if (meta.status !== 'queued') return [{ installTarget, meta, data }];
  // Once the data are installed, the metadata are next.
  return [{ installTarget, meta: { status: data.status === 'complete' ? 'running' : data.status }, data }];
}

function installState(target: TargetId, kind: InstallKind, installs: readonly InstallRecord[]): ShownState {
  const record = installs.find((item) => item.target === target && item.kind === kind);
  if (!record) return { status: 'queued' };
  return { status: record.status, ...(record.messages.length > 0 ? { messages: [...record.messages] } : {}) };
}
