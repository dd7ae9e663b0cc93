// Edits by a dataset's owner, as a transaction: the row is locked while the edit is decided and its object put, and other
// writers of the row wait. A process that ends lets go, and what it had not committed did not happen.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { DatasetEdits, DecidedEdit, EditableDataset } from '../../engine/ports/dataset-edits.ts';
import type { FakeCatalog } from '../fakes/fake-catalog.ts';
import { applyEdits, revisionsAround } from '../fakes/fake-dataset-edits.ts';
import type { Gate } from './gate.ts';
import type { Caller } from './scheduler.ts';

/** Who has which row. */
export class RowLocks {
  readonly #holders = new Map<string, Caller>();

  isLocked(dataset: string): boolean {
    return this.#holders.get(dataset)?.alive ?? false;
  }

  lock(dataset: string, holder: Caller): void {
    this.#holders.set(dataset, holder);
  }

  release(dataset: string, holder: Caller): void {
    if (this.#holders.get(dataset) === holder) this.#holders.delete(dataset);
  }
}

export class SimEdits implements DatasetEdits {
  readonly #catalog: FakeCatalog;
  readonly #locks: RowLocks;
  readonly #gate: Gate;
  readonly #process: Caller;

  constructor(catalog: FakeCatalog, locks: RowLocks, gate: Gate, process: Caller) {
    this.#catalog = catalog;
    this.#locks = locks;
    this.#gate = gate;
    this.#process = process;
  }

  async edit<Result>(
    dataset: DatasetId,
    decide: (now: EditableDataset | undefined, signal: AbortSignal) => Promise<DecidedEdit<Result>>,
    signal: AbortSignal,
  ): Promise<Result> {
    const call = { about: dataset, nature: 'write', signal, row: dataset } as const;
    try {
      const lock = async (): Promise<void> => this.#locks.lock(dataset, this.#process);
      await this.#gate.pass({ ...call, name: 'edits.lock', act: lock });
      const { changes, result } = await decide(this.#read(dataset), signal);
      const commit = async (): Promise<void> => {
        if (changes.length > 0) applyEdits(this.#catalog, dataset, changes);
      };
      await this.#gate.pass({ ...call, row: undefined, name: 'edits.commit', act: commit });
      return result;
    } finally {
      this.#locks.release(dataset, this.#process);
    }
  }

  #read(dataset: DatasetId): EditableDataset | undefined {
    const known = this.#catalog.datasets.get(dataset);
    if (!known) return undefined;
    const { files, ...record } = known;
    return {
      ...record,
      files: { documents: files.document ?? [], properties: files.property ?? [] },
      ...revisionsAround(this.#catalog, dataset),
    };
  }
}
