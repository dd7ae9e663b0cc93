// Decides what happens next. Every call of a port waits here until it is let go, in an order and with an outcome that the
// seed chooses; between two steps everything that can go on without a further decision does so.
//
//   waiting  --let go-->    happens | happens later | fails | happens and its answer is lost | its process ends there
//            --aborted-->   never happens, or happens although nobody waits for it any more
//            --its process ends-->  happens or not; nobody hears of it

import { setImmediate as turn } from 'node:timers/promises';
import { PLUGIN_FAULT_ATTEMPTS } from '../../engine/ports/plugin-client.ts';
import { type Failure, type FailureOptions, transient } from '../../engine/runtime/failure.ts';
import { ThreadDied } from '../../engine/threads/thread-group.ts';
import type { VirtualClock } from '../fakes/virtual-clock.ts';
import { CALM, type Fault, type FaultCounts, noFaults, type Weather } from './faults.ts';
import type { SeededRandom } from './random.ts';
import type { Trace } from './trace.ts';

export interface Caller {
  readonly id: number;
  readonly alive: boolean;
  readonly stalled: boolean;
}

export type Nature = 'read' | 'write' | 'plugin' | 'task' | 'deliver' | 'acknowledge';

export interface Call {
  readonly caller: Caller;
  /** `port.method` */
  readonly name: string;
  readonly about: string;
  readonly nature: Nature;
  readonly signal: AbortSignal | undefined;
  readonly act: () => Promise<unknown>;
  /** Waits for as long as the dataset's row is locked. */
  readonly row?: string | undefined;
  /** Carries out a part of it; absent when it has no parts. */
  readonly actPartly?: (() => Promise<unknown>) | undefined;
}

interface Waiting extends Call {
  readonly number: number;
  notBefore: number;
  /** Undefined: nobody waits any more. */
  answer: { resolve(result: unknown): void; reject(error: unknown): void } | undefined;
  /** Stops listening to its signal: whoever stops waiting must not be kept by a signal that lives longer. */
  readonly unlisten: () => void;
}

type Fate = Fault | 'happens';

const FATES: Readonly<Record<Nature, readonly Fault[]>> = {
  read: ['slow', 'failed', 'unreachable', 'crash before a call'],
  write: ['slow', 'failed', 'unreachable', 'answer lost', 'cut short', 'crash before a call', 'crash after a call'],
  plugin: [
    ...['slow', 'plugin refused', 'plugin reset', 'plugin error', 'plugin time-out'],
    ...['cut short', 'crash before a call', 'crash after a call'],
  ] as readonly Fault[],
  task: ['slow', 'thread death'],
  deliver: ['slow', 'crash before a call'],
  acknowledge: ['slow', 'batch repeated', 'crash before a call', 'crash after a call'],
};
/** Statements of a database run on when their caller gives up; an aborted put leaves no object. */
const RUNS_ON = /^(catalog|uploads|jobs|leases|events|target)\b/;
/** Ids of datasets, as the plan makes them. */
const DATASETS = /\bsimulated\w+/g;
const SLOW_MS = [50, 500, 3_000, 12_000, 40_000] as const;
/** What time passes while calls are on their way. */
const BREATH_MS = 25;

export interface SchedulerOptions {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly trace: Trace;
  /** Somebody else has the dataset's row. */
  readonly isLocked: (dataset: string) => boolean;
  /** The process ends; called before any of its waiting calls is taken away. */
  readonly crash: (caller: Caller) => void;
}

export class Scheduler {
  readonly counts: FaultCounts = noFaults();
  weather: Weather = CALM;
  steps = 0;
  /** Ports that are away: names of calls begin with one of `ports`. */
  outages: readonly { readonly ports: readonly string[]; readonly process: number | undefined }[] = [];
  /** Whose call is carried out in this step, and whether the changes it makes go untold for now. */
  acting: { readonly caller: number; readonly untold: boolean } | undefined;
  readonly #options: SchedulerOptions;
  #waiting: Waiting[] = [];
  /** By dataset. */
  readonly #strikes = new Map<string, number>();
  #last = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  get random(): SeededRandom {
    return this.#options.random;
  }

  count(fault: Fault): void {
    this.counts[fault]++;
  }

  /** The call's result, once it was let go. A call of a dead process is never answered. */
  pass<Result>(call: Call & { readonly act: () => Promise<Result> }): Promise<Result> {
    if (!call.caller.alive) return new Promise(() => {});
    const { signal } = call;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<Result>((resolve, reject) => {
      const abort = (): void => this.#aborted(waiting);
      const unlisten = (): void => signal?.removeEventListener('abort', abort);
      const answer = { resolve: (result: unknown) => resolve(result as Result), reject };
      const waiting: Waiting = { ...call, number: ++this.#last, notBefore: 0, answer, unlisten };
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** Calls that wait, by name. */
  get calls(): readonly string[] {
    return this.#waiting.map(({ name }) => name);
  }

  /** How often a call that concerned the dataset went wrong. */
  strikesOn(dataset: string): number {
    return this.#strikes.get(dataset) ?? 0;
  }

  threadDeath(task: string): Error {
    return new ThreadDied(`${task}: its thread died`, true);
  }

  /** Lets one call go, or time pass until something can be let go. False when nothing can ever happen again. */
  async step(): Promise<boolean> {
    const { clock, random } = this.#options;
    this.steps++;
    const now = clock.now();
    const open = this.#waiting.filter((waiting) => waiting.notBefore <= now && this.#mayGo(waiting));
    if (open.length === 0) {
      if (!(await clock.advanceToNext())) return false;
    } else {
      this.#release(random.pick(open));
      await turn();
      this.acting = undefined;
      if (random.chance(0.25)) await clock.advance(random.between(0, BREATH_MS));
    }
    return true;
  }

  /** Takes away what the process waits for; some of it happens all the same. */
  drop(caller: Caller): void {
    const dropped = this.#waiting.filter((waiting) => waiting.caller === caller);
    this.#waiting = this.#waiting.filter((waiting) => waiting.caller !== caller);
    for (const waiting of dropped) {
      waiting.unlisten();
      // What a process that stands still had not sent yet, nobody got.
      const under = waiting.nature === 'write' || (waiting.nature === 'plugin' && !caller.stalled);
      if (!under || !this.random.chance(0.3)) continue;
      this.#note(waiting, 'happens while its process ends');
      this.#actQuietly(waiting, this.random.chance(this.weather['change untold']));
    }
  }

  #mayGo({ caller, row }: Waiting): boolean {
    return !caller.stalled && !(row !== undefined && this.#options.isLocked(row));
  }

  #release(waiting: Waiting): void {
    const fate = this.#fateOf(waiting);
    if (fate !== 'slow') {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.unlisten();
    }
    this.#note(waiting, fate);
    if (fate !== 'happens') this.#strike(waiting, fate);
    this.#meet(waiting, fate);
  }

  #meet(waiting: Waiting, fate: Fate): void {
    const { name, caller } = waiting;
    switch (fate) {
      case 'happens':
        this.#act(waiting);
        return;
      case 'slow':
        this.#delay(waiting, this.random.between(1, this.random.pick(SLOW_MS)));
        return;
      case 'failed':
        waiting.answer?.reject(transient(`${name} did not happen`));
        return;
      case 'unreachable':
      case 'outage':
        waiting.answer?.reject(transient(`${name}: nobody there`, { unreachable: true }));
        return;
      case 'answer lost':
        this.#thenReject(waiting, waiting.act, transient(`${name} did not answer`));
        return;
      case 'cut short':
        this.#thenReject(waiting, waiting.actPartly ?? waiting.act, transient(`${name} broke off`));
        return;
      case 'crash before a call':
        this.#options.crash(caller);
        return;
      case 'crash after a call':
        this.#actQuietly(this.#perhapsInTheMiddle(waiting), this.random.chance(this.weather['change untold']));
        this.#options.crash(caller);
        return;
      case 'batch repeated':
        waiting.answer?.reject(transient(`${name} was not heard`));
        return;
      case 'plugin refused':
        waiting.answer?.reject(unanswered(`${name}: connection refused`, { unreachable: true }));
        return;
      case 'plugin reset':
        this.#perhapsThenReject(waiting, unanswered(`${name}: connection reset`));
        return;
      case 'plugin error':
        waiting.answer?.resolve({ kind: 'server-error', message: 'the plugin stumbled' });
        return;
      case 'plugin time-out':
        this.#perhapsThenReject(
          waiting,
          transient(`${name}: no response within the deadline`, { maxAttempts: PLUGIN_FAULT_ATTEMPTS }),
        );
        return;
      case 'thread death':
        waiting.answer?.reject(this.threadDeath(name));
        return;
      default:
        throw new Error(`a call cannot meet with '${fate}'`);
    }
  }

  #act(waiting: Waiting): void {
    this.acting = { caller: waiting.caller.id, untold: false };
    const heard = (how: 'resolve' | 'reject') => (value: unknown) => {
      if (waiting.caller.alive) waiting.answer?.[how](value);
    };
    waiting.act().then(heard('resolve'), heard('reject'));
  }

  /** A plugin's script is ended with the process that hosts it. */
  #perhapsInTheMiddle(waiting: Waiting): Waiting {
    const { nature, actPartly } = waiting;
    return nature === 'plugin' && actPartly && this.random.chance(0.5) ? { ...waiting, act: actPartly } : waiting;
  }

  /** What it answers is nobody's business. */
  #actQuietly({ act, caller }: Waiting, untold: boolean): void {
    this.acting = { caller: caller.id, untold };
    act().catch(() => {});
  }

  #thenReject(waiting: Waiting, act: () => Promise<unknown>, error: Error): void {
    this.acting = { caller: waiting.caller.id, untold: false };
    const reject = (): void => {
      if (waiting.caller.alive) waiting.answer?.reject(error);
    };
    act().then(reject, reject);
  }

  #perhapsThenReject(waiting: Waiting, error: Failure): void {
    if (this.random.chance(0.5)) this.#thenReject(waiting, waiting.act, error);
    else waiting.answer?.reject(error);
  }

  #delay(waiting: Waiting, ms: number): void {
    waiting.notBefore = this.#options.clock.now() + ms;
    // So that time has a reason to pass.
    this.#options.clock.after(ms, () => {});
  }

  #aborted(waiting: Waiting): void {
    const { answer, name, nature, signal, caller } = waiting;
    const place = this.#waiting.indexOf(waiting);
    if (place < 0 || !answer || !caller.alive) return;
    const late = nature === 'write' && RUNS_ON.test(name) && this.random.chance(this.weather['late effect']);
    if (late) {
      this.#note(waiting, 'late effect');
      this.count('late effect');
      waiting.answer = undefined;
      this.#delay(waiting, this.random.between(0, 20_000));
    } else {
      this.#waiting.splice(place, 1);
      this.#note(waiting, 'aborted');
    }
    answer.reject(signal?.reason);
  }

  #fateOf(waiting: Waiting): Fate {
    if (!waiting.answer) return 'happens';
    const away = this.outages.some(
      ({ ports, process }) =>
        (process ?? waiting.caller.id) === waiting.caller.id && ports.some((port) => waiting.name.startsWith(port)),
    );
    if (away) return waiting.nature === 'plugin' ? 'plugin refused' : 'unreachable';
    let draw = this.random.next();
    for (const fault of FATES[waiting.nature]) {
      if (fault === 'cut short' && !waiting.actPartly) continue;
      draw -= this.weather[fault];
      if (draw < 0) return fault;
    }
    return 'happens';
  }

  #strike({ about }: Waiting, fate: Fault): void {
    this.count(fate);
    for (const dataset of new Set(about.match(DATASETS))) this.#strikes.set(dataset, this.strikesOn(dataset) + 1);
  }

  #note({ caller, name, about, number }: Waiting, fate: string): void {
    this.#options.trace.note(`#${number} p${caller.id} ${name} ${about}: ${fate}`);
  }
}

const unanswered = (message: string, options: FailureOptions = {}): Failure =>
  transient(message, { ...options, unanswered: true });
