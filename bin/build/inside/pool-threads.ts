// Replaces `node:worker_threads` for the worker pool's library inside of the single executable. Its threads run the bundled
// entry point, since there are no files to load.

import { getAsset } from 'node:sea';
import { Worker as FileWorker, type WorkerOptions } from 'node:worker_threads';

export * from 'node:worker_threads';

export class Worker extends FileWorker {
  constructor(_file: string | URL, options?: WorkerOptions) {
    super(getAsset('thread.js', 'utf8'), { ...options, eval: true });
  }
}
