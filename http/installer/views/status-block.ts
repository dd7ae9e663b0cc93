// The status block (docs/contract/installer.md#status-block), as every answer shows it. Installs are shown from a complete
// import on; what the mirror does not know yet is queued.
//
// Deployed clients that name no version in `Api-Version` refuse a whole answer in which an install is `queued`: their set
// of statuses does not have it. They get an entry once something of it has begun, and of that entry no `data` while that
// is queued. `meta` must be there: while it is queued it shows how far the data are that it waits for.

import type { TargetId } from '../../../engine/model/ids.ts';
import type { InstallKind, InstallStatus } from '../../../engine/model/status.ts';
import type { DatasetRecord, InstallRecord } from '../../../engine/ports/catalog.ts';
import type { StatusBlock } from '../schema/dataset-terms.ts';

interface InstallState {
  status: InstallStatus;
  messages?: string[];
}

type InstallEntry = StatusBlock['install'][number];

/** @param versionNamed the request names its interface version, and so knows all statuses */
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

/** The entry without the word `queued`; none when nothing has begun. */
function begunEntry(installTarget: TargetId, meta: InstallState, data: InstallState): readonly InstallEntry[] {
  if (data.status === 'queued') return meta.status === 'queued' ? [] : [{ installTarget, meta }];
  if (meta.status !== 'queued') return [{ installTarget, meta, data }];
  // With the data there, the metadata are next.
  return [{ installTarget, meta: { status: data.status === 'complete' ? 'running' : data.status }, data }];
}

function installState(target: TargetId, kind: InstallKind, installs: readonly InstallRecord[]): InstallState {
  const record = installs.find((item) => item.target === target && item.kind === kind);
  if (!record) return { status: 'queued' };
  return { status: record.status, ...(record.messages.length > 0 ? { messages: [...record.messages] } : {}) };
}
