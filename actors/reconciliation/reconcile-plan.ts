// What the reconciliation of one dataset may do, and the plan in which the parts of its decision gather that.

import type { LaneName } from '../../engine/model/event.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { CatalogChange } from '../../engine/ports/catalog.ts';
import type { RevisionFlag } from '../dataset/revisions.ts';

export type Action =
  /** Everything that the store and the targets know, in one go. */
  | { readonly do: 'register'; readonly changes: readonly CatalogChange[] }
  /** Accepted, and forgotten before it was packed: its raw files are packed as if it had just been accepted. */
  | { readonly do: 'resumeUpload' }
  | { readonly do: 'write'; readonly changes: readonly CatalogChange[] }
  /** On every older revision that lacks it. */
  | { readonly do: 'flagOlder'; readonly flag: RevisionFlag }
  | { readonly do: 'remove'; readonly keys: readonly string[] }
  /** Deleted there, and wanted again: to be installed from scratch. */
  | { readonly do: 'reopen'; readonly target: TargetId }
  | { readonly do: 'reinstall'; readonly target: TargetId; readonly message: string | undefined }
  | { readonly do: 'enqueue'; readonly lanes: readonly LaneName[] };

/** What becomes of the parts, gathered, in the order in which it is done. */
export interface Plan {
  readonly changes: CatalogChange[];
  readonly flags: RevisionFlag[];
  readonly removed: string[];
  readonly targets: (Action & { readonly do: 'reopen' | 'reinstall' })[];
  readonly lanes: Set<Exclude<LaneName, 'reconciliation'>>;
}
