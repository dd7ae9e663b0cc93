// Edits over a fake catalog, one after the other.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { DatasetEdits, DecidedEdit, EditableDataset } from '../../engine/ports/dataset-edits.ts';
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
    const { changes, result } = await decide(record && { ...record, shares: known?.shares ?? [], files }, signal);
    signal.throwIfAborted();
    this.#catalog.apply(dataset, changes);
    return result;
  }
}
