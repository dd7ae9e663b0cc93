// How far the datasets of an installation are, from its cache database, and the wait until nothing is left to do.

import pg from 'pg';
import { systemClock } from '../../../engine/runtime/time.ts';
import type { Teardowns } from './teardowns.ts';

const LOOK_MS = 500;
const SAY_MS = 15_000;
const never = new AbortController().signal;

export interface Counts {
  readonly datasets: number;
  readonly installed: number;
  readonly jobs: number;
}

const COUNTS = `
  select count(*)::int as datasets,
    count(*) filter (where d.state = 'live' and 4 = (select count(*) from installer.install_status s
      where s.dataset_id = d.dataset_id and s.status = 'complete'))::int as installed,
    (select count(*) from installer.job)::int + (select count(*) from installer.upload where state <> 'stored')::int as jobs
  from installer.dataset d`;

const JOBS = `
  select lane || ' ' || state as job, count(*)::int as n, max(attempts) as attempts, left(max(message), 60) as message
  from installer.job group by 1 order by 1`;

export class Progress {
  readonly #pool: pg.Pool;
  readonly #begun = systemClock.now();
  #saidAt = 0;

  constructor(t: Teardowns, connection: pg.ClientConfig) {
    this.#pool = new pg.Pool({ ...connection, max: 1 });
    t.teardown(() => this.#pool.end());
  }

  async counts(): Promise<Counts> {
    const { rows } = await this.#pool.query<Counts>(COUNTS);
    return rows[0] ?? { datasets: 0, installed: 0, jobs: 0 };
  }

  say(text: string): void {
    const seconds = Math.round((systemClock.now() - this.#begun) / 1000);
    console.log(`${String(seconds).padStart(5)} s  ${text}`);
  }

  /** Jobs by lane and state. */
  async jobs(): Promise<string> {
    const { rows } = await this.#pool.query<{ job: string; n: number; attempts: number; message: string | null }>(JOBS);
    return rows
      .map(({ job, n, attempts, message }) => `${n} ${job}${message ? ` (try ${attempts}: ${message})` : ''}`)
      .join(', ');
  }

  /** Until so many wait for their import, or are in it. */
  async uploaded(datasets: number): Promise<void> {
    for (;;) {
      const { rows } = await this.#pool.query<{ n: number }>(
        "select count(*)::int as n from installer.job where lane = 'import'",
      );
      if (rows[0]?.n === datasets) return;
      await systemClock.sleep(LOOK_MS, never);
    }
  }

  /**
   * Until every dataset is installed and no job is left.
   * @param isOver nothing more will be added
   * @param patienceMs without any progress, after which it is false
   */
  async finished(isOver: () => boolean, patienceMs: number): Promise<boolean> {
    let last = '';
    for (let since = systemClock.now(); ; await systemClock.sleep(LOOK_MS, never)) {
      const counts = await this.counts();
      const now = JSON.stringify(counts);
      if (now !== last) since = systemClock.now();
      last = now;
      if (isOver() && counts.jobs === 0 && counts.installed === counts.datasets) return true;
      if (systemClock.now() - this.#saidAt >= SAY_MS) {
        this.#saidAt = systemClock.now();
        this.say(`${counts.installed} of ${counts.datasets} installed; ${await this.jobs()}`);
      }
      if (isOver() && systemClock.now() - since > patienceMs) return false;
    }
  }
}
