// Parts of puts that nobody will finish, because the process that made them is dead. Stores keep them for ever and charge
// for them. Whose they are cannot be told, so a day is waited: no put of ours lasts so long.

import { messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import type { S3Connection } from './s3-connection.ts';

const AGE_MS = 24 * 60 * 60 * 1000;
/** Looked for at most so often, however often it is asked. */
const PERIOD_MS = 60 * 60 * 1000;

export class UnfinishedUploads {
  readonly #connection: S3Connection;
  readonly #log: Logger;
  #dueAt = 0;

  constructor(connection: S3Connection, log: Logger) {
    this.#connection = connection;
    this.#log = log;
  }

  /** Removes the old ones. What the store does not allow, or what fails, is logged: nothing depends on it. */
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
