// Alerts of the machine and of several processes, on a running program: what makes each fire, and how docs/runbooks.md ends it.

import { execFileSync } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { PostgresLeases } from '../../engine/adapters/postgres/leases-postgres.ts';
import { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { tempDir } from '../support/longshore.ts';
import { TrialSite } from './trial-site.ts';

const never = new AbortController().signal;
const disk = join(await tempDir(t), 'disk');
await mkdir(disk);
const mounted = mount();
const site = await TrialSite.open(t, { storeIn: disk });

t.test('LongshoreDiskNearlyFull', { skip: mounted ? false : 'no file system can be mounted here' }, async (t) => {
  const filler = join(disk, 'filler');
  execFileSync('fallocate', ['-l', '63M', filler]);
  const labels = { folder: site.store };
  await site.fires('LongshoreDiskNearlyFull', { ...labels, severity: 'warning' });
  await site.fires('LongshoreDiskNearlyFull', { ...labels, severity: 'critical' });
  t.match((await site.follows('LongshoreDiskNearlyFull', 'doctor')).stdout, /object store .*\n(.*\n)*? +problem: /);
  t.match(await site.follows('LongshoreDiskNearlyFull', 'prune'), { code: 0 });
  await rm(filler);
  await site.resolves('LongshoreDiskNearlyFull');
});

t.test('LongshoreEventLoopDelay', async (t) => {
  // A machine that gives the process the processor only now and then.
  let ended = false;
  const starving = (async () => {
    while (!ended) {
      process.kill(site.service.pid, 'SIGSTOP');
      await setTimeout(200);
      process.kill(site.service.pid, 'SIGCONT');
      await setTimeout(300);
    }
  })();
  try {
    await site.fires('LongshoreEventLoopDelay');
    t.match((await site.follows('LongshoreEventLoopDelay', 'top')).stdout, /event loop p99 \d{3}/);
  } finally {
    ended = true;
    await starving;
  }
  await site.resolves('LongshoreEventLoopDelay');
});

t.test('LongshoreDaemonLeaderless', async (t) => {
  await site.service.stop();
  // A process that hangs, but keeps its lead.
  const { db } = site.seeds;
  const parts = [systemClock, silentLogger(), never] as const;
  await using instance = await PostgresInstance.open(db, { onGap: () => undefined }, ...parts);
  const leases = new PostgresLeases(db, instance);
  const lease = await leases.acquire('daemon:reconciler', never);
  if (!lease) throw new Error('somebody else leads');
  await site.start();
  await leases.renew([lease], never);
  await site.fires('LongshoreDaemonLeaderless', { daemon: 'reconciler' });
  t.match((await site.follows('LongshoreDaemonLeaderless', 'top')).stdout, /^reconciler +no /m);
  await leases.release(lease, never);
  await site.resolves('LongshoreDaemonLeaderless');
  t.match((await site.follows('LongshoreDaemonLeaderless', 'top')).stdout, /^reconciler +yes /m);
});

/** A small disk; false where that is not allowed. */
function mount(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    return false;
  }
  t.teardown(() => execFileSync('umount', ['--lazy', disk]));
  return true;
}
