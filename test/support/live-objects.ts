// Which objects are still kept by something: the garbage is collected first, so what is counted is held for good.

import { setImmediate as turn } from 'node:timers/promises';
import { queryObjects } from 'node:v8';

/** How many objects of the class, subclasses included, are alive after the work is done. */
export async function aliveAfter(
  work: () => void | Promise<void>,
  kind: abstract new (...args: never[]) => object,
): Promise<number> {
  await work();
  // What a turn has looked at through weak references lives until its end.
  await turn();
  return countKept(kind);
}

/**
 * A compiler's thread that is busy with a function holds on to what the function sees, for as long as that takes: on a busy
 * machine one in eight counts came too early. No JavaScript runs between the counts, so nothing of it lets go meanwhile.
 */
function countKept(kind: abstract new (...args: never[]) => object): number {
  let kept = Number(queryObjects(kind));
  for (let n = 0; kept > 0 && n < COUNTS; n++) {
    Atomics.wait(NOBODY, 0, 0, BETWEEN_MS);
    kept = Number(queryObjects(kind));
  }
  return kept;
}

const [COUNTS, BETWEEN_MS] = [3, 100];
/** Never notified. */
const NOBODY = new Int32Array(new SharedArrayBuffer(4));

/** Made by who listens and does not stop: whatever keeps the listener keeps this. */
export class Forgetful {
  #calls = 0;

  /** A listener on the signal that is never taken off. */
  static listenTo(signal: AbortSignal): void {
    const listener = new Forgetful();
    signal.addEventListener('abort', () => listener.#calls++);
  }
}
