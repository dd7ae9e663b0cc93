// The actions that the reconciliation of one dataset may take, and the plan that collects them while it decides.

import type { LaneName } from '../../engine/model/event.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import type { CatalogChange } from '../../engine/ports/catalog.ts';
import type { RevisionFlag } from '../dataset/revisions.ts';

export type Action =
  /** Adds everything that the store and the targets know, in one transaction. */
  | { readonly do: 'register'; readonly changes: readonly CatalogChange[] }
  /** The upload was accepted but lost before it was packed: its raw files are packed as if it had just been accepted. */
  | { readonly do: 'resumeUpload' }
  | { readonly do: 'write'; readonly changes: readonly CatalogChange[] }
  /** Adds the flag to every older revision that lacks it. */
  | { readonly do: 'flagOlder'; readonly flag: RevisionFlag }
  | { readonly do: 'remove'; readonly keys: readonly string[] }
  /** Deleted on the target, but live again: it must be installed from scratch. */
  | { readonly do: 'reopen'; readonly target: TargetId }
  | { readonly do: 'reinstall'; readonly target: TargetId; readonly message: string | undefined }
  | { readonly do: 'enqueue'; readonly lanes: readonly LaneName[] };

/** The collected actions, in the order in which they are performed. */
export interface Plan {
  readonly changes: CatalogChange[];
  readonly flags: RevisionFlag[];
  readonly removed: string[];
  readonly targets: (Action & { readonly do: 'reopen' | 'reinstall' })[];
  readonly lanes: Set<Exclude<LaneName, 'reconciliation'>>;
}
