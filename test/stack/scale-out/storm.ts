// What happens to an installation while datasets flow: processes are killed with -9 and started again, then each service
// goes away for a while.

import { systemClock } from '../../../engine/runtime/time.ts';
import { OUTAGES, type Outage } from './outages.ts';
import type { Progress } from './progress.ts';
import type { Site } from './site.ts';

const never = new AbortController().signal;

export interface StormOptions {
  readonly kills: number;
  /** Between kills, in milliseconds. */
  readonly every: number;
  readonly outages: boolean;
  /** That a service is away, in milliseconds; half as long they are all there. */
  readonly away: number;
  /** Number from 0 to 1. */
  readonly random: () => number;
}

/** How long it lasts when nothing takes time, in milliseconds. */
export const durationOf = ({ kills, every, outages, away }: StormOptions): number =>
  kills * every + (outages ? OUTAGES.length * away * 1.5 : 0);

/** The service is back afterwards, even if it could not go away as it should. */
export async function suffer(site: Site, outage: Outage, away: number): Promise<void> {
  try {
    await outage.begin(site);
    await systemClock.sleep(away, never);
  } finally {
    await outage.end(site);
  }
}

export async function storm(site: Site, options: StormOptions, progress: Progress): Promise<void> {
  const { kills, every, outages, away, random } = options;
  const begun = systemClock.now();
  for (let kill = 1; kill <= kills; kill++) {
    await systemClock.sleep(Math.max(0, begun + (kill - 0.5) * every - systemClock.now()), never);
    const victim = site.processes[Math.floor(random() * site.processes.length)];
    if (!victim) throw new Error('there is no process');
    progress.say(`kill -9 ${victim.name} (${kill} of ${kills})`);
    await victim.kill();
    await victim.start();
  }
  if (!outages) return;
  for (const outage of OUTAGES) {
    progress.say(`${outage.name} for ${away / 1000} s`);
    await suffer(site, outage, away);
    await systemClock.sleep(away / 2, never);
  }
}
