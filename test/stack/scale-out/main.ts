// The frame of a run: a PostgreSQL, findings that are counted, and an end that leaves nothing running, whatever happened.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { freePort } from '../../support/ports.ts';
import { Findings } from './findings.ts';

const PASSWORD = 'longshore-tests';

/**
 * The exit code. The last line that it prints is `N passed, N failed`.
 * @param work is given what rejects when the run is ended before its end: whatever is awaited fails, and is taken down
 */
export async function mainOf(
  prefix: string,
  work: (stopped: Promise<never>, findings: Findings) => Promise<void>,
): Promise<number> {
  const stopped = Promise.withResolvers<never>();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => stopped.reject(new Error(`ended by ${name}`)));
  stopped.promise.catch(() => undefined);
  const findings = new Findings();
  const dir = await mkdtemp(join(tmpdir(), prefix));
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
    await work(stopped.promise, findings);
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

/** Ends the program on anything else. */
export function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`--${name} '${text}': expected a whole number`);
  process.exit(2);
}
