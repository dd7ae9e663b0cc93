// Removes multipart uploads that were left by dead processes. Stores keep them forever and charge for them. We cannot tell
// which process started an upload, so we wait for a day: none of our puts takes that long.

import { messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import type { S3Connection } from './s3-connection.ts';

const AGE_MS = 24 * 60 * 60 * 1000;
/** Shortest time between two sweeps. Calls in between do nothing. */
const PERIOD_MS = 60 * 60 * 1000;

export class UnfinishedUploads {
  readonly #connection: S3Connection;
  readonly #log: Logger;
  #dueAt = 0;

  constructor(connection: S3Connection, log: Logger) {
    this.#connection = connection;
    this.#log = log;
  }

  /** Removes old unfinished uploads. Logs failures instead of throwing, because nothing depends on the removal. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#connection;
    if (clock.now() < this.#dueAt) return;
    this.#dueAt = clock.now() + PERIOD_MS;
    try {
      const removed = await this.#removeBefore(clock.now() - AGE_MS, signal);
      if (removed > 0) this.#log.info({ uploads: removed }, 'removed unfinished uploads of dead processes');
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn({ reason: messageOf(error) }, 'unfinished uploads were not looked for');
    }
  }

  async #removeBefore(time: number, signal: AbortSignal): Promise<number> {
    const { bucket } = this.#connection;
    let removed = 0;
    for (let key = '', id = ''; ; ) {
      const page = await this.#connection.call('listing unfinished uploads', signal, (_call, client) =>
        client.listIncompleteUploadsQuery(bucket, '', key, id, ''),
      );
      for (const upload of page.uploads) {
        if (upload.initiated.getTime() >= time) continue;
        await this.#connection.call(`removing the parts of ${upload.key}`, signal, (_call, client) =>
          client.abortMultipartUpload(bucket, upload.key, encodeURIComponent(upload.uploadId)),
        );
        removed++;
      }
      if (!page.isTruncated) return removed;
      key = page.nextKeyMarker;
      id = page.nextUploadIdMarker;
    }
  }
}
