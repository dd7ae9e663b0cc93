// Several processes with one configuration, on the real services; the last line is `N passed, N failed`.
//   node test/stack/scale-out/run.ts [--datasets N]   uploaded through three processes, 2,000 by default
//        .. [--kills N] [--every SECONDS]             of processes with -9, each started again; 10, 30 s apart
//        .. [--outages] [--away SECONDS]              each service goes away in turn, for 30 s
//        .. [--throughput N]                          with so many datasets three processes are measured against one;
//                                                     by default 240; 0: not at all
//        .. [--seed N]                                which processes are killed

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { freePort } from '../../support/ports.ts';
import { durability } from './durability.ts';
import { Findings } from './findings.ts';
import { throughput } from './throughput.ts';

const PASSWORD = 'longshore-tests';
const { values } = parseArgs({
  options: {
    datasets: { type: 'string', default: '2000' },
    kills: { type: 'string', default: '10' },
    every: { type: 'string', default: '30' },
    outages: { type: 'boolean', default: false },
    away: { type: 'string', default: '30' },
    throughput: { type: 'string', default: '240' },
    seed: { type: 'string', default: '1' },
  },
});
/** Ended before its end, it leaves nothing running: what is awaited fails, and everything is taken down. */
const stopped = Promise.withResolvers<never>();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => stopped.reject(new Error(`ended by ${name}`)));
stopped.promise.catch(() => undefined);
process.exitCode = await main();

async function main(): Promise<number> {
  const findings = new Findings();
  const dir = await mkdtemp(join(tmpdir(), 'longshore-scale-out-postgres-'));
  try {
    await using server = await startEmbeddedPostgres(
      { dir, port: await freePort(), password: PASSWORD, maxConnections: 400, unsafeFast: true },
      systemClock,
      silentLogger(),
      new AbortController().signal,
    );
    Object.assign(process.env, {
      LONGSHORE_TEST_POSTGRES: String(server.port),
      LONGSHORE_TEST_PASSWORD: PASSWORD,
    });
    const measured = wholeNumber('throughput');
    if (measured > 0) await throughput(measured, stopped.promise, findings);
    const datasets = wholeNumber('datasets');
    if (datasets > 0)
      await durability(
        {
          datasets,
          kills: wholeNumber('kills'),
          every: wholeNumber('every') * 1000,
          outages: values.outages,
          away: wholeNumber('away') * 1000,
          random: seeded(wholeNumber('seed')),
        },
        stopped.promise,
        findings,
      );
  } catch (error) {
    findings.holds(
      'the run comes to its end',
      false,
      error instanceof Error ? (error.stack ?? error.message) : `${error}`,
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  // Whatever is still under way belongs to a run that was ended.
  setImmediate(() => process.exit());
  console.log(`${findings.passed} passed, ${findings.failed} failed`);
  return findings.failed === 0 && findings.passed > 0 ? 0 : 1;
}

function wholeNumber(name: 'datasets' | 'kills' | 'every' | 'away' | 'throughput' | 'seed'): number {
  const text = values[name];
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`--${name} '${text}': expected a whole number`);
  process.exit(2);
}

/** The same numbers from 0 to 1 for the same seed. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
