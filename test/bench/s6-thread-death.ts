// S6: one of two threads dies under a lane that is busy: how long until as much is done as before.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durableServer } from './durable-server.ts';
import { longshore } from './engine-longshore.ts';
import type { BenchRow, Round } from './row.ts';

export const rows: readonly BenchRow[] = [
  {
    id: 'S6',
    title:
      'one of two threads dies under a durable lane of sha256 over 1.2 MB: until it does 90 % of what it did before',
    ...{ unit: 'ms', better: 'lower', sides: {} },
    bars: [{ atMost: 1_000 }],
    async measure(rounds) {
      await using cleanup = new AsyncDisposableStack();
      const dir = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
      cleanup.defer(() => rm(dir, { recursive: true, force: true }));
      const server = cleanup.use(await durableServer());
      const engine = cleanup.use(await longshore(server, 'ours', { plugins: 1, log: join(dir, 'longshore.log') }));
      await engine.afterDeath();
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) measured.push({ ours: await engine.afterDeath() });
      return measured;
    },
  },
];
