// The status block (contract 1, Status block). Installs are shown for every target from a complete import on; what the
// mirror does not know yet is queued.

import type { TargetId } from '../../../engine/model/ids.ts';
import type { InstallKind, InstallStatus } from '../../../engine/model/status.ts';
import type { DatasetRecord, InstallRecord } from '../../../engine/ports/catalog.ts';
import type { StatusBlock } from '../schema/dataset-terms.ts';

interface InstallState {
  status: InstallStatus;
  messages?: string[];
}

export function statusBlock(
  dataset: Pick<DatasetRecord, 'upload' | 'import'>,
  targets: readonly TargetId[],
  installs: readonly InstallRecord[],
): StatusBlock {
  const { upload, import: imported } = dataset;
  return {
    upload: { status: upload.status, ...(upload.message === undefined ? {} : { message: upload.message }) },
    import: {
      status: imported?.status ?? 'queued',
      ...(imported && imported.messages.length > 0 ? { messages: [...imported.messages] } : {}),
    },
    install:
      imported?.status === 'complete'
        ? targets.map((target) => ({
            installTarget: target,
            meta: installState(target, 'meta', installs),
            data: installState(target, 'data', installs),
          }))
        : [],
  };
}

function installState(target: TargetId, kind: InstallKind, installs: readonly InstallRecord[]): InstallState {
  const record = installs.find((item) => item.target === target && item.kind === kind);
  if (!record) return { status: 'queued' };
  return { status: record.status, ...(record.messages.length > 0 ? { messages: [...record.messages] } : {}) };
}
