// What an upload consists of once all of it has come: what is accepted.

import type { DatasetMetadata, FileEntry } from '../../../engine/model/metadata.ts';
import type { Traceparent } from '../../../engine/model/traceparent.ts';
import type { StoredShare } from '../../../engine/ports/catalog.ts';
import type { KeyedAnswer } from '../../../engine/ports/idempotency-keys.ts';
import type { UploadSource } from '../../../engine/ports/uploads.ts';

export interface ReceivedUpload {
  readonly metadata: DatasetMetadata;
  readonly source: UploadSource;
  readonly documents: readonly FileEntry[];
  readonly properties: readonly FileEntry[];
  /** What its share documents say; a revision has those of the one before. */
  readonly shares?: readonly StoredShare[];
  /** Of the request, as is its key. */
  readonly traceparent?: Traceparent;
  readonly keyed?: KeyedAnswer | undefined;
}
