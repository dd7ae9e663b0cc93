// What strikes processes and dependencies as a whole, between calls.

import type { SeededRandom } from './random.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** Names of calls that fail together; a database takes most of them with it. */
const DEPENDENCIES = [
  ['catalog.', 'uploads.', 'jobs.', 'leases.', 'events.', 'changes.', 'queries.'],
  ['store.'],
  ['target.'],
  ['plugin.'],
  ['leases.'],
] as const;
/** A lease lasts 30 s. */
const STALL_MS = [20_000, 90_000] as const;
const OUTAGE_MS = [2_000, 70_000] as const;
const RESTART_MS = 15_000;

export class Storm {
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #tuning: SeededRandom;
  #over = false;

  /** @param tuning decides what lanes are told, so that it changes nothing else of a seed */
  constructor(world: World, tuning: SeededRandom) {
    this.#world = world;
    this.#random = world.scheduler.random;
    this.#tuning = tuning;
  }

  begin(processesAtMs: readonly number[]): void {
    for (const atMs of processesAtMs) this.#startIn(atMs);
  }

  /** Before each step. */
  blow(): void {
    const { scheduler } = this.#world;
    const { weather } = scheduler;
    for (const fault of ['crash between calls', 'stall', 'stop', 'outage'] as const) {
      if (!this.#random.chance(weather[fault])) continue;
      const running = this.#world.alive.filter((process) => !process.stalled && !process.stopping);
      const process = running.length > 0 ? this.#random.pick(running) : undefined;
      if (fault === 'outage') this.#takeAway(process);
      else if (!process) continue;
      else if (fault === 'stall') this.#stall(process);
      else if (fault === 'stop') void this.#stop(process);
      else this.#world.crash(process);
      scheduler.count(fault);
    }
    if (this.#tuning.chance(weather['lanes resized'])) this.#resizeLanes();
  }

  /** All dependencies are back, every process that ran is dead, and new ones run. */
  end(processes: number): void {
    this.#over = true;
    this.#world.scheduler.outages = [];
    for (const process of this.#world.alive) this.#world.crash(process);
    for (let i = 0; i < processes; i++) this.#world.startProcess();
  }

  #startIn(ms: number): void {
    this.#world.clock.after(ms, () => {
      if (this.#over) return;
      const process = this.#world.startProcess();
      process.ended.addEventListener('abort', () => this.#startIn(this.#random.between(0, RESTART_MS)), { once: true });
    });
  }

  #takeAway(process: SimProcess | undefined): void {
    const { scheduler, clock, trace } = this.#world;
    const ports = this.#random.pick(DEPENDENCIES);
    const outage = { ports, process: this.#random.chance(0.5) ? process?.id : undefined };
    const ms = this.#random.between(...OUTAGE_MS);
    trace.note(`away for ${ms} ms: ${ports.join(' ')} for ${outage.process ?? 'all'}`);
    scheduler.outages = [...scheduler.outages, outage];
    clock.after(ms, () => {
      scheduler.outages = scheduler.outages.filter((other) => other !== outage);
    });
  }

  #resizeLanes(): void {
    const { alive, scheduler, trace } = this.#world;
    if (alive.length === 0) return;
    const process = this.#tuning.pick(alive);
    const bounds = process.resizeLanes(this.#tuning);
    trace.note(`p${process.id} takes over other bounds: ${bounds}`);
    scheduler.count('lanes resized');
  }

  #stall(process: SimProcess): void {
    const ms = this.#random.between(...STALL_MS);
    this.#world.trace.note(`p${process.id} stands still for ${ms} ms`);
    process.stall();
    this.#world.clock.after(ms, () => process.goOn());
  }

  async #stop(process: SimProcess): Promise<void> {
    this.#world.trace.note(`p${process.id} is told to stop`);
    await process.stop();
    this.#world.trace.note(`p${process.id} has stopped`);
    this.#world.crash(process);
  }
}
