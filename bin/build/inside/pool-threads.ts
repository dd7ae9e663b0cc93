// What the worker pool's library has for `node:worker_threads` inside the single executable: threads that run the
// bundled entry, since there are no files to run.

import { getAsset } from 'node:sea';
import { Worker as FileWorker, type WorkerOptions } from 'node:worker_threads';

export * from 'node:worker_threads';

export class Worker extends FileWorker {
  constructor(_file: string | URL, options?: WorkerOptions) {
    super(getAsset('thread.js', 'utf8'), { ...options, eval: true });
  }
}
