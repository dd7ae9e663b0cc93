// A thread that does a given number of digests as fast as it can: what a core gives.

import { parentPort } from 'node:worker_threads';
import { digest } from './fixed-work.ts';

parentPort?.on('message', (count: number) => {
  let done = '';
  for (let n = 0; n < count; n++) done = digest();
  parentPort?.postMessage(done);
});
