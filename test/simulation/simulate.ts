// One seed from beginning to end: a storm, in which clients work and everything fails now and then; then a calm, in which
// processes run undisturbed until nothing is left to do; then the judgement.

import { FakeJobAdmin } from '../fakes/fake-job-admin.ts';
import type { Bug } from './bugs.ts';
import { Clients } from './clients.ts';
import { CALM, type FaultCounts, weatherOf } from './faults.ts';
import { isPoisoned, judge } from './judge.ts';
import { type Plan, planOf } from './plan.ts';
import { SeededRandom } from './random.ts';
import { repair } from './repair.ts';
import { Storm } from './storm.ts';
import { World } from './world.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly bug?: Bug | undefined;
  /** Prints what happens, and the log. */
  readonly print?: boolean;
}

export interface SimulationResult {
  readonly seed: number;
  /** What must not be, in the order in which it was found; empty = passed. */
  readonly violations: readonly string[];
  readonly counts: FaultCounts;
  readonly steps: number;
  /** How many datasets ended in which state; `none` are those that were never accepted, or pruned. */
  readonly ends: Readonly<Record<string, number>>;
  /** Milliseconds of virtual time. */
  readonly virtualMs: number;
  /** Of the whole trace. */
  readonly digest: string;
  /** The end of the trace. */
  readonly tail: readonly string[];
}

const STORM_STEPS = 4_000;
const CALM_STEPS = 30_000;
const CALM_MS = 3 * 3_600_000;
/** How often an administrator has to look after what the storm made fail for good. */
const ROUNDS = 8;

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  // Back-offs of the kernel draw from here where no other source is handed in.
  const chance = Math.random;
  Math.random = new SeededRandom(options.seed, 'product').next;
  try {
    return await new Simulation(options).run();
  } finally {
    Math.random = chance;
  }
}

class Simulation {
  readonly #seed: number;
  readonly #world: World;
  readonly #plan: Plan;
  readonly #clients: Clients;
  readonly #storm: Storm;

  constructor(options: SimulationOptions) {
    this.#seed = options.seed;
    this.#world = new World(options);
    this.#plan = planOf(options.seed);
    this.#clients = new Clients(this.#world);
    this.#storm = new Storm(this.#world, new SeededRandom(options.seed, 'tuning'));
  }

  async run(): Promise<SimulationResult> {
    const { clock, scheduler, trace, violations } = this.#world;
    const begun = clock.now();
    scheduler.weather = weatherOf(new SeededRandom(this.#seed, 'weather'));
    this.#storm.begin(this.#plan.processesAtMs);
    this.#clients.begin(this.#plan.datasets);
    while (clock.now() - begun < this.#plan.stormMs && scheduler.steps < STORM_STEPS && violations.length === 0) {
      this.#storm.blow();
      await this.#step();
    }
    if (violations.length === 0) await this.#calmDown();
    for (const process of this.#world.alive) process.kill();
    const { counts, steps } = scheduler;
    const virtualMs = clock.now() - begun;
    const ends: Record<string, number> = {};
    for (const { dataset } of this.#plan.datasets) {
      const state = this.#world.catalog.datasets.get(dataset)?.state ?? 'none';
      ends[state] = (ends[state] ?? 0) + 1;
    }
    return { seed: this.#seed, violations, counts, steps, ends, virtualMs, digest: trace.digest(), tail: trace.tail };
  }

  async #calmDown(): Promise<void> {
    const { scheduler, trace, violations, violate } = this.#world;
    trace.note('the storm is over');
    scheduler.weather = CALM;
    this.#storm.end(this.#plan.processesAtMs.length);
    for (let round = 0; ; round++) {
      await this.#rest();
      if (violations.length > 0) return;
      const retried = await this.#retryDead();
      if (!(await repair(this.#world, this.#plan.datasets)) && !retried) break;
      if (round === ROUNDS) return violate('an administrator cannot mend what failed');
    }
    await this.#stopAll();
    for (const fault of await judge(this.#world, this.#clients, this.#plan.datasets)) violate(fault);
  }

  /** Goes on until nothing is left to do. */
  async #rest(): Promise<void> {
    const { clock, scheduler, violations, violate } = this.#world;
    const until = { ms: clock.now() + CALM_MS, steps: scheduler.steps + CALM_STEPS };
    while (!this.#world.isQuiet() || !this.#clients.idle) {
      await this.#step();
      if (violations.length > 0) return;
      if (clock.now() > until.ms || scheduler.steps > until.steps)
        return violate(`no end: ${this.#world.leftOver().join(', ')}`);
    }
  }

  async #step(): Promise<void> {
    if (!(await this.#world.scheduler.step())) this.#world.violate('nothing can ever happen again');
  }

  /** What an administrator does about dead jobs; false when there are none. */
  async #retryDead(): Promise<boolean> {
    const poisoned = this.#plan.datasets.filter(isPoisoned).map(({ dataset }) => dataset);
    const dead = this.#world.jobs.rows.filter((row) => !(row.lane === 'import' && poisoned.includes(row.dataset)));
    const admin = new FakeJobAdmin(this.#world.jobs, this.#world.catalog);
    for (const row of dead) {
      this.#world.trace.note(`administrator: ${row.lane} ${row.dataset} again`);
      await admin.retry(row.id, new AbortController().signal);
    }
    return dead.length > 0;
  }

  async #stopAll(): Promise<void> {
    const stopped = this.#world.alive.map(async (process) => {
      await process.stop();
      process.kill();
    });
    let over = false;
    const all = Promise.all(stopped).then(() => {
      over = true;
    });
    for (let steps = 0; !over && steps < 1_000; steps++) await this.#step();
    if (!over) this.#world.violate('processes do not stop');
    else await all;
  }
}
