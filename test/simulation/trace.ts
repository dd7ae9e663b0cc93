// What happened in one simulation, line by line: all of it as a hash, the end of it as text. Two runs of one seed have the
// same hash, or something in them is left to chance.

import { createHash } from 'node:crypto';

const KEPT = 60;

export class Trace {
  readonly #hash = createHash('sha256');
  readonly #last: string[] = [];
  readonly #print: boolean;
  readonly #now: () => number;
  readonly #begun: number;

  constructor(now: () => number, print: boolean) {
    this.#now = now;
    this.#begun = now();
    this.#print = print;
  }

  note(line: string): void {
    const stamped = `${((this.#now() - this.#begun) / 1000).toFixed(3)} ${line}`;
    this.#hash.update(`${stamped}\n`);
    this.#last.push(stamped);
    if (this.#last.length > KEPT) this.#last.shift();
    if (this.#print) console.log(stamped);
  }

  /** The last lines. */
  get tail(): readonly string[] {
    return this.#last;
  }

  /** Ends the trace. */
  digest(): string {
    return this.#hash.digest('hex');
  }
}
