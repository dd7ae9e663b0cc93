// Status values of the contract (docs/contract/installer.md#status-block), as values and as types.

export const UPLOAD_STATUSES = ['running', 'success', 'rejected', 'failed'] as const;
export type UploadStatus = (typeof UPLOAD_STATUSES)[number];

export const IMPORT_STATUSES = ['queued', 'in-progress', 'complete', 'invalid', 'failed'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

export const INSTALL_STATUSES = [
  'queued',
  'running',
  'complete',
  'failed-validation',
  'failed-installation',
  'ready-for-reinstall',
  'missing-dependency',
] as const;
export type InstallStatus = (typeof INSTALL_STATUSES)[number];

/** What is installed: the dataset's rows and properties (`meta`), or its files and data rows (`data`). */
export const INSTALL_KINDS = ['meta', 'data'] as const;
export type InstallKind = (typeof INSTALL_KINDS)[number];

/** States of a dataset in the cache DB; `isDeleted` is true from `deleting` on (docs/design/decisions.md#lanes). */
export const DATASET_STATES = ['receiving', 'live', 'superseded', 'deleting', 'deleted', 'pruning'] as const;
export type DatasetState = (typeof DATASET_STATES)[number];

/**
 * The stored visibility; `controlled` is computed: protected with zero days for approval
 * (docs/contract/installer.md#shared-types).
 */
export const STORED_VISIBILITIES = ['private', 'protected', 'public'] as const;
export type StoredVisibility = (typeof STORED_VISIBILITIES)[number];
export type Visibility = StoredVisibility | 'controlled';

export const isDeleted = (state: DatasetState): boolean =>
  state === 'deleting' || state === 'deleted' || state === 'pruning';

// Who may read what of a dataset that is not deleted: the one rule for listings, files, permissions and what sites show. The
// view of the control schema (../adapters/migrations/control/) expresses the same rule in SQL.
//
//                         metadata, documents     files
//   private               given                   given
//   protected, controlled everybody               given, granted
//   public                everybody               everybody

/** A person's relation to a dataset; `controlled` is a kind of protected (status.ts). */
export interface Standing {
  readonly visibility: StoredVisibility;
  /** The owner, a recipient who accepted a standing offer, or an administrator. */
  readonly given: boolean;
  /** Holds an approved, unexpired grant of the dataset access service. Ignored while the dataset is private. */
  readonly granted: boolean;
}

export const readsMetadata = ({ visibility, given }: Omit<Standing, 'granted'>): boolean =>
  given || visibility !== 'private';

export function readsFiles({ visibility, given, granted }: Standing): boolean {
  switch (visibility) {
    case 'private':
      return given;
    case 'protected':
      return given || granted;
    case 'public':
      return true;
    default:
      return visibility satisfies never;
  }
}
