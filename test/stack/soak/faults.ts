// One fault after another: a process is killed or hangs, or a service goes away for a while. The first process is never
// killed: its memory is compared.

import { systemClock } from '../../../engine/runtime/time.ts';
import { OUTAGES, type Outage } from '../scale-out/outages.ts';
import type { Progress } from '../scale-out/progress.ts';
import type { ServeProcess } from '../scale-out/serve-process.ts';
import type { Site } from '../scale-out/site.ts';
import { suffer } from '../scale-out/storm.ts';
import type { Random } from './clients.ts';

const KILLS = 0.4;
const HANGS = 0.1;
const [SHORTEST_MS, LONGEST_MS] = [3_000, 20_000];
const never = new AbortController().signal;

export interface FaultsOptions {
  readonly every: number;
  readonly random: Random;
  readonly isOver: () => boolean;
}

/** @returns how many of each kind there were */
export async function faults(site: Site, options: FaultsOptions, progress: Progress): Promise<Record<string, number>> {
  const { every, random, isOver } = options;
  const counts: Record<string, number> = {};
  for (let next = systemClock.now() + every; ; next += every) {
    while (!isOver() && systemClock.now() < next) await systemClock.sleep(500, never);
    if (isOver()) return counts;
    const away = SHORTEST_MS + random() * (LONGEST_MS - SHORTEST_MS);
    const kind = random();
    const which = random();
    const name = await strike(site, kind, which, away, progress);
    counts[name] = (counts[name] ?? 0) + 1;
  }
}

async function strike(site: Site, kind: number, which: number, away: number, progress: Progress): Promise<string> {
  const seconds = `${(away / 1000).toFixed(0)} s`;
  if (kind < KILLS) {
    const victim = oneOf(site.processes.slice(1), which);
    progress.say(`kill -9 ${victim.name}`);
    await victim.kill();
    await victim.start();
    return 'kill -9';
  }
  const outage = kind < KILLS + HANGS ? hang(oneOf(site.processes, which)) : oneOf(OUTAGES, which);
  progress.say(`${outage.name} for ${seconds}`);
  await suffer(site, outage, away);
  return outage.name;
}

const hang = (serve: ServeProcess): Outage => ({
  name: `${serve.name} hangs`,
  begin: () => serve.pause(),
  end: () => serve.continue(),
});

function oneOf<T>(all: readonly T[], which: number): T {
  const one = all[Math.floor(which * all.length)];
  if (one === undefined) throw new Error('there is nothing to choose from');
  return one;
}
