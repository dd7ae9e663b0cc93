// What can go wrong, how often it does under a seed, and how often it did.

import type { SeededRandom } from './random.ts';

export const FAULTS = [
  /** A port's call is carried out seconds or minutes later. */
  'slow',
  /** A port's call does not happen. */
  'failed',
  'unreachable',
  /** It happens, and its caller hears of a failure. */
  'answer lost',
  /** A listing or a removal ends in the middle. */
  'cut short',
  /** It happens although its caller gave up waiting. */
  'late effect',
  /** The process ends before, after or between calls; calls that are under way then happen or do not. */
  'crash before a call',
  'crash after a call',
  'crash between calls',
  /** The process stands still for longer than a lease lasts. */
  'stall',
  /** The process is told to stop in order. */
  'stop',
  /** A dependency is away for a while, for one process or for all. */
  'outage',
  /** A change of the object store is announced twice, late, or only after a settling. */
  'change repeated',
  'change late',
  'change untold',
  /** A batch of changes or of events is handled and not acknowledged. */
  'batch repeated',
  'plugin refused',
  'plugin reset',
  'plugin error',
  'plugin time-out',
  'thread death',
  /** No fault: the lanes of a process get other bounds while they run. */
  'lanes resized',
] as const;
export type Fault = (typeof FAULTS)[number];
export type FaultCounts = Record<Fault, number>;

export const noFaults = (): FaultCounts => Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as FaultCounts;

/** Probabilities: per released call, per step, or per change, whatever the fault strikes. */
export type Weather = Readonly<Record<Fault, number>>;

export const CALM: Weather = noFaults();

const USUAL: Weather = {
  slow: 0.03,
  failed: 0.012,
  unreachable: 0.008,
  'answer lost': 0.012,
  'cut short': 0.15,
  'late effect': 0.5,
  'crash before a call': 0.002,
  'crash after a call': 0.003,
  'crash between calls': 0.000_4,
  stall: 0.000_8,
  stop: 0.000_4,
  outage: 0.001,
  'change repeated': 0.1,
  'change late': 0.2,
  'change untold': 0.5,
  'batch repeated': 0.03,
  'plugin refused': 0.04,
  'plugin reset': 0.06,
  'plugin error': 0.03,
  'plugin time-out': 0.03,
  'thread death': 0.02,
  'lanes resized': 0.004,
};

/** Some seeds are without a kind of fault, some have it often: what only meets rarely has to meet somewhere. */
export function weatherOf(random: SeededRandom): Weather {
  return Object.fromEntries(
    FAULTS.map((fault) => [fault, Math.min(0.6, USUAL[fault] * random.pick([0, 0.5, 1, 1, 3]))]),
  ) as unknown as Weather;
}
