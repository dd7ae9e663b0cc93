// Edits over a fake catalog, one after the other.

import { type DatasetId, revisionNumber, rootOf } from '../../engine/model/ids.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type {
  DatasetEdit,
  DatasetEdits,
  DecidedEdit,
  EditableDataset,
  NewerRevision,
} from '../../engine/ports/dataset-edits.ts';
import type { FakeCatalog } from './fake-catalog.ts';

export class FakeDatasetEdits implements DatasetEdits {
  readonly #catalog: FakeCatalog;
  readonly #last = new Map<DatasetId, Promise<unknown>>();

  constructor(catalog: FakeCatalog) {
    this.#catalog = catalog;
  }

  async edit<Result>(
    dataset: DatasetId,
    decide: (now: EditableDataset | undefined, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
    signal: AbortSignal,
  ): Promise<Result> {
    signal.throwIfAborted();
    const before = this.#last.get(dataset) ?? Promise.resolve();
    const mine = before.then(
      () => this.#edit(dataset, decide, signal),
      () => this.#edit(dataset, decide, signal),
    );
    this.#last.set(dataset, mine);
    return mine;
  }

  async #edit<Result>(
    dataset: DatasetId,
    decide: (now: EditableDataset | undefined, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
    signal: AbortSignal,
  ): Promise<Result> {
    const record = await this.#catalog.find(dataset, signal);
    const known = this.#catalog.datasets.get(dataset);
    const files = { documents: known?.files.document ?? [], properties: known?.files.property ?? [] };
    const { changes, result, traceparent } = await decide(
      record && { ...record, shares: known?.shares ?? [], files, ...revisionsAround(this.#catalog, dataset) },
      signal,
    );
    signal.throwIfAborted();
    applyEdits(this.#catalog, dataset, changes);
    if (changes.length > 0 && traceparent !== undefined) this.#catalog.traces.set(dataset, traceparent);
    return result;
  }
}

/** What an edit may cause, as one step. */
export function applyEdits(catalog: FakeCatalog, dataset: DatasetId, changes: readonly DatasetEdit[]): void {
  const { older } = revisionsAround(catalog, dataset);
  for (const change of changes)
    if (change.set === 'olderDeleted') for (const id of older) catalog.apply(id, [{ set: 'state', state: 'deleting' }]);
    else catalog.apply(dataset, [change]);
}

export function revisionsAround(
  { datasets }: FakeCatalog,
  dataset: DatasetId,
): Pick<EditableDataset, 'newer' | 'older'> {
  const own = datasets.get(dataset);
  if (!own) return { newer: undefined, older: [] };
  const root = ({ metadata, dataset: id }: typeof own): DatasetId => metadata.revisionHistory?.originalId ?? rootOf(id);
  const others = [...datasets.values()]
    .filter((one) => one.owner === own.owner && one.dataset !== dataset && root(one) === root(own))
    .sort((a, b) => revisionNumber(b.dataset) - revisionNumber(a.dataset));
  const isOlder = (one: typeof own): boolean => revisionNumber(one.dataset) < revisionNumber(dataset);
  const newest = others.find((one) => one.state === 'live' && !isOlder(one));
  const older = others.filter((one) => isOlder(one) && (one.state === 'live' || one.state === 'superseded'));
  return { newer: newest && newerRevision(newest), older: older.map((one) => one.dataset) };
}

function newerRevision({ dataset, upload, import: imported }: DatasetRecord): NewerRevision {
  const refused = upload.status === 'rejected' || upload.status === 'failed';
  const useless = upload.status === 'success' && (imported?.status === 'invalid' || imported?.status === 'failed');
  return { dataset, failed: refused || useless };
}
