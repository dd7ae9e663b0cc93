// Time-outs of the calls to one server, in memory that all threads share: they may change while calls are made, and hold
// for those that begin afterwards.

export interface CallTimes {
  readonly connectMs: number;
  /** Longest silence while an answer's body flows. */
  readonly bodyIdleMs: number;
  /** For the way there and back, on top of the work's own time. */
  readonly marginMs: number;
}

/** Longest wait of a timer. */
export const LONGEST_MS = 2 ** 31 - 1;

const PLACES = ['connectMs', 'bodyIdleMs', 'marginMs'] as const satisfies readonly (keyof CallTimes)[];

export function shareTimes(times: CallTimes): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(PLACES.length * Int32Array.BYTES_PER_ELEMENT);
  changeTimes(memory, times);
  return memory;
}

/** Whole milliseconds, at least 1: to a timer, 0 would be no limit at all. */
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
