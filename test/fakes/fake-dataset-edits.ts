// Edits over a fake catalog, one after the other.

import { type DatasetId, revisionNumber, rootOf } from '../../engine/model/ids.ts';
import type { DatasetEdits, DecidedEdit, EditableDataset, NewerRevision } from '../../engine/ports/dataset-edits.ts';
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
      record && { ...record, shares: known?.shares ?? [], files, newer: newerRevision(this.#catalog, dataset) },
      signal,
    );
    signal.throwIfAborted();
    this.#catalog.apply(dataset, changes);
    if (changes.length > 0 && traceparent !== undefined) this.#catalog.traces.set(dataset, traceparent);
    return result;
  }
}

export function newerRevision({ datasets }: FakeCatalog, dataset: DatasetId): NewerRevision | undefined {
  const own = datasets.get(dataset);
  if (!own) return undefined;
  const root = ({ metadata, dataset: id }: typeof own): DatasetId => metadata.revisionHistory?.originalId ?? rootOf(id);
  const [newest] = [...datasets.values()]
    .filter((one) => one.owner === own.owner && one.state === 'live' && root(one) === root(own))
    .filter((one) => revisionNumber(one.dataset) > revisionNumber(dataset))
    .sort((a, b) => revisionNumber(b.dataset) - revisionNumber(a.dataset));
  if (!newest) return undefined;
  const { upload, import: imported } = newest;
  const refused = upload.status === 'rejected' || upload.status === 'failed';
  const useless = upload.status === 'success' && (imported?.status === 'invalid' || imported?.status === 'failed');
  return { dataset: newest.dataset, failed: refused || useless };
}
