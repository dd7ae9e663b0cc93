// How far the slim runs of the reconciler have come. Together they walk over all datasets, in the order of the object store's
// keys, each run over a part. The place is stored, so that a restarted process, or another leader, continues there.

import type { DatasetAddress } from '../model/object-key.ts';

export interface SlimPass {
  /** The last dataset that was compared; undefined at the start of a pass. */
  readonly after: DatasetAddress | undefined;
  /** Every dataset up to `after` has been compared since then. */
  readonly begunAt: Date;
  /** Datasets compared in this pass. */
  readonly compared: number;
  /** Datasets compared in the whole pass before this one. */
  readonly expected: number;
}

export interface SlimPasses {
  /** The pass in progress; undefined before the first one was saved. */
  load(signal: AbortSignal): Promise<SlimPass | undefined>;
  /**
   * Replaces the pass. It is not fenced: what a former leader saves late is true as well, so at worst datasets are compared
   * once more.
   */
  save(pass: SlimPass, signal: AbortSignal): Promise<void>;
}
