// Timeouts of the calls to one server, in memory that all threads share. They may change at any time and apply to calls that
// start afterwards.

export interface CallTimes {
  readonly connectMs: number;
  /** Maximum silence while a response's body is read. */
  readonly bodyIdleMs: number;
  /** For the round trip, in addition to the work's own time. */
  readonly marginMs: number;
}

/** Maximum delay of a Node.js timer. */
export const LONGEST_MS = 2 ** 31 - 1;

const PLACES = ['connectMs', 'bodyIdleMs', 'marginMs'] as const satisfies readonly (keyof CallTimes)[];

export function shareTimes(times: CallTimes): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(PLACES.length * Int32Array.BYTES_PER_ELEMENT);
  changeTimes(memory, times);
  return memory;
}

/** Whole milliseconds, at least 1: a timeout of 0 would mean no limit. */
export function changeTimes(memory: SharedArrayBuffer, times: CallTimes): void {
  const places = new Int32Array(memory);
  for (const [i, name] of PLACES.entries())
    Atomics.store(places, i, Math.min(Math.max(1, Math.ceil(times[name])), LONGEST_MS));
}

export function readTimes(memory: SharedArrayBuffer): CallTimes {
  const places = new Int32Array(memory);
  const [connectMs, bodyIdleMs, marginMs] = PLACES.map((_, i) => Atomics.load(places, i)) as [number, number, number];
  return { connectMs, bodyIdleMs, marginMs };
}
