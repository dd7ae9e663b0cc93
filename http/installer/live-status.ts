// The current install status of a dataset, asked of its targets, each under a deadline. A target that does not answer is shown
// with its last known status and a message that says so.

import type { TargetId } from '../../engine/model/ids.ts';
import { INSTALL_KINDS } from '../../engine/model/status.ts';
import type { InstallRecord } from '../../engine/ports/catalog.ts';
import type { ViewedDataset } from '../../engine/ports/dataset-queries.ts';
import type { ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import { messageOf, transient } from '../../engine/runtime/failure.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import type { InstallStatusSource } from './dataset-details.ts';

/** A user waits for the page meanwhile. */
const ANSWER_MS = 2_000;

export function liveInstallStatus(
  targets: ReadonlyMap<TargetId, Pick<InstallTarget, 'state'>>,
  clock: Clock,
): InstallStatusSource {
  return async (dataset, signal) => {
    // Nothing is installed before the import is complete.
    if (dataset.import?.status !== 'complete') return dataset.installs;
    const records = await Promise.all(
      dataset.metadata.installTargets.map(async (id) => {
        const target = targets.get(id);
        return target ? statusOn(dataset, id, target, clock, signal) : lastKnown(dataset, id);
      }),
    );
    return records.flat();
  };
}

async function statusOn(
  dataset: ViewedDataset,
  id: TargetId,
  target: Pick<InstallTarget, 'state'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly InstallRecord[]> {
  using limit = deadline(clock, ANSWER_MS, signal, () => transient(`no response within ${ANSWER_MS} ms`));
  try {
    const state = await unlessAborted(target.state(dataset.dataset, limit.signal), limit.signal);
    return INSTALL_KINDS.flatMap(
      (kind) => givenUp(dataset, id, kind, state) ?? recordOf(id, kind, state) ?? waiting(dataset, id, kind),
    );
  } catch (error) {
    signal.throwIfAborted();
    // Addresses of databases are for operators: the log of the pool has them.
    const why = limit.signal.aborted ? messageOf(error) : 'it cannot be reached';
    return lastKnown(dataset, id, `last known status: ${id} does not respond (${why})`);
  }
}

function recordOf(target: TargetId, kind: InstallRecord['kind'], state: ControlState): InstallRecord | undefined {
  const said = state.messages[kind];
  return said && { target, kind, status: said.status, messages: said.message?.split('\n') ?? [] };
}

/** If the job ended before it could write to the target, only the cache has the final status. */
function givenUp(
  dataset: ViewedDataset,
  target: TargetId,
  kind: InstallRecord['kind'],
  state: ControlState,
): InstallRecord | undefined {
  const said = state.messages[kind]?.status ?? 'queued';
  if (said !== 'queued' && said !== 'running') return undefined;
  return dataset.installs.find(
    (install) => install.target === target && install.kind === kind && install.status === 'failed-installation',
  );
}

/** A target knows nothing of an install that has not begun; the cache knows why it waits. */
const waiting = (dataset: ViewedDataset, target: TargetId, kind: InstallRecord['kind']): readonly InstallRecord[] =>
  dataset.installs.filter(
    (install) => install.target === target && install.kind === kind && install.status === 'queued',
  );

function lastKnown(dataset: ViewedDataset, target: TargetId, note?: string): readonly InstallRecord[] {
  const known = INSTALL_KINDS.map(
    (kind): InstallRecord =>
      dataset.installs.find((install) => install.target === target && install.kind === kind) ?? {
        target,
        kind,
        status: 'queued',
        messages: [],
      },
  );
  return note === undefined ? known : known.map((record) => ({ ...record, messages: [...record.messages, note] }));
}
