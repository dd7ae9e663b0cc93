// Counts of a subject's work: they do not depend on the noise of a machine.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { systemClock } from '../../engine/runtime/time.ts';
import { cpuSeconds } from './processes.ts';
import { superuser } from './product.ts';
import type { Subject } from './subject.ts';

/** Of everything but the scripts, per dataset. Statements are what the server was sent: calls of pg_stat_statements. */
export interface Counts {
  readonly cpuMs: number;
  readonly statements: number;
  readonly commits: number;
  readonly fsyncs: number;
}

/** PostgreSQL tells what a connection did ten seconds after it fell idle, or sooner. */
const SETTLE_MS = 11_000;

/** Uploads and installs twice as many datasets: once for the counts, once under strace. The server counts statements. */
export async function countsOf(subject: Subject & { readonly dir: string }, datasets: number): Promise<Counts> {
  const sql = await superuser(subject.dir, 'postgres');
  await sql.query('create extension if not exists pg_stat_statements');
  const snapshot = async () => {
    const { rows } = await sql.query(
      `select (select sum(calls) from pg_stat_statements)::float8 as statements,
         (select sum(xact_commit) from pg_stat_database)::float8 as commits`,
    );
    const { looks } = subject;
    return { ...rows[0], looks, cpu: cpuOf(subject) } as Record<'statements' | 'commits' | 'looks' | 'cpu', number>;
  };
  await settled();
  const start = await snapshot();
  await settled();
  const idle = await snapshot();
  await worked(subject, datasets);
  await settled();
  const end = await snapshot();
  await sql.end();
  // What the subject does while it is idle was measured in as many seconds, in which we sent one snapshot, too.
  const of = (what: keyof typeof end): number => end[what] - idle[what] - (idle[what] - start[what]);
  const looks = end.looks - idle.looks;
  return {
    cpuMs: (of('cpu') * 1_000) / datasets,
    statements: (of('statements') - looks) / datasets,
    commits: (of('commits') - looks) / datasets,
    fsyncs: (await fsyncsOf(subject, () => worked(subject, datasets))) / datasets,
  };
}

/** Seconds of its processes; connections that ended meanwhile are in those that PostgreSQL waited for. */
export const cpuOf = ({ at }: Subject): number => cpuSeconds(at.processes(), at.postmaster);

async function worked(subject: Subject, datasets: number): Promise<void> {
  await subject.installed(await subject.upload(datasets), 50);
  await subject.idle();
}

const settled = (): Promise<void> => systemClock.sleep(SETTLE_MS);

/** Of the process that serves, which is the one that writes into the store; the scripts and PostgreSQL do not count. */
async function fsyncsOf({ at }: Subject, work: () => Promise<void>): Promise<number> {
  const strace = spawn('strace', ['-f', '-c', '-e', 'trace=fsync,fdatasync,syncfs,sync', '-p', String(at.server)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(strace, 'exit');
  const attached = Promise.withResolvers<void>();
  let calls = 0;
  const lines = createInterface({ input: strace.stderr });
  lines.on('line', (line) => {
    if (/attached/.test(line)) attached.resolve();
    const [, count] =
      /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?:fsync|fdatasync|syncfs|sync)$/.exec(line) ?? [];
    calls += Number(count ?? 0);
  });
  await Promise.race([attached.promise, ended.then(() => Promise.reject(new Error('strace cannot attach')))]);
  await work();
  const read = once(lines, 'close');
  strace.kill('SIGINT');
  await Promise.all([ended, read]);
  return calls;
}
