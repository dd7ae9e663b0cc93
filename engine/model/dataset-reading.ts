// Who may read what of a dataset that is not deleted: the one rule for listings, files, permissions and what sites show. The
// view of the control schema (../adapters/migrations/control/) expresses the same rule in SQL.
//
//                         metadata, documents     files
//   private               given                   given
//   protected, controlled everybody               given, granted
//   public                everybody               everybody

import type { StoredVisibility } from './status.ts';

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
