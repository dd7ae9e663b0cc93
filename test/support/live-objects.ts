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
  return Number(queryObjects(kind));
}

/** Made by who listens and does not stop: whatever keeps the listener keeps this. */
export class Forgetful {
  #calls = 0;

  /** A listener on the signal that is never taken off. */
  static listenTo(signal: AbortSignal): void {
    const listener = new Forgetful();
    signal.addEventListener('abort', () => listener.#calls++);
  }
}
