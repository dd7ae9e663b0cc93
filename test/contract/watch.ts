// Waits for what the running program does by itself, woken by its own notifications.

import { withCache } from '../support/places.ts';

/** Resolves when nothing of the dataset waits or runs; a dead job has ended. */
export const ended = (dir: string, dataset: string): Promise<void> =>
  until(
    dir,
    `select not exists (select from object_change) and not exists (select from event_log)
       and not exists (select from job where dataset_id = $1 and state <> 'dead') as so`,
    dataset,
  );

export const imported = (dir: string, dataset: string): Promise<void> =>
  until(dir, `select exists (select from dataset where dataset_id = $1 and import_status = 'complete') as so`, dataset);

/** Runs statements against the cache, as a fault would change it. */
export const inCache = (dir: string, ...statements: readonly string[]): Promise<void> =>
  withCache(dir, async (cache) => {
    for (const statement of statements) await cache.query(statement);
  });

async function until(dir: string, question: string, dataset: string): Promise<void> {
  await withCache(dir, async (cache) => {
    let woken = Promise.withResolvers<void>();
    cache.on('notification', () => woken.resolve());
    for (const channel of ['longshore_lease', 'longshore_job']) await cache.query(`listen ${channel}`);
    for (const begun = Date.now(); ; ) {
      const { rows } = await cache.query<{ so: boolean }>(question, [dataset]);
      if (rows[0]?.so) return;
      if (Date.now() - begun > 60_000) throw new Error(`dataset ${dataset}: still under way after a minute`);
      // What needs no job ends without a notification: a look now and then is the net.
      const net = setTimeout(() => woken.resolve(), 50);
      await woken.promise;
      clearTimeout(net);
      woken = Promise.withResolvers();
    }
  });
}
