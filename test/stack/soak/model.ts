// What the last accepted request of each kind said.

export type Answered = 'accept' | 'reject';

export interface Share {
  offer: 'grant' | 'revoke';
  receipt?: Answered;
}

export interface Dataset {
  readonly id: string;
  readonly owner: string;
  /** Names its genes (uploads.ts). */
  readonly content: string;
  summary: string;
  state: 'live' | 'superseded' | 'deleted';
  /** By recipient. */
  readonly shares: Map<string, Share>;
  /** Revisions that this one replaces. */
  readonly older: readonly Dataset[];
  /** SHA-256 of its second file. */
  readonly digest: string | undefined;
  /** A client is at it. */
  isBusy: boolean;
}

export interface Report {
  readonly id: string;
  readonly query: string;
}

export class Model {
  readonly datasets = new Map<string, Dataset>();
  /** Ids of report jobs. */
  readonly reports = new Set<string>();
  /** Approval status by `user dataset`. */
  readonly access = new Map<string, string>();

  add(
    dataset: Omit<Dataset, 'isBusy' | 'state' | 'shares' | 'older'> & Partial<Pick<Dataset, 'shares' | 'older'>>,
  ): void {
    if (this.datasets.has(dataset.id)) throw new Error(`${dataset.id} was given twice`);
    this.datasets.set(dataset.id, { shares: new Map(), older: [], ...dataset, isBusy: false, state: 'live' });
  }

  delete(dataset: Dataset): void {
    for (const one of [dataset, ...dataset.older]) one.state = 'deleted';
  }

  undelete(dataset: Dataset): void {
    dataset.state = 'live';
    for (const one of dataset.older) one.state = 'superseded';
  }
}
