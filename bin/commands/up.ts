// `longshore up`: runs everything on this machine, from scratch. Creates its data directory once and resumes from it later. The
// database server takes longest to start, so it is started first, and most of this program is loaded in the meantime
// (bin/compose/embedded-service.ts).

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { enableCompileCache } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { aborted, Failure } from '../../engine/runtime/failure.ts';
import { exists, writeWhole } from '../../engine/runtime/files.ts';
import { createLogger, LogThreshold } from '../../engine/runtime/log.ts';
import { bundled } from '../../engine/runtime/program-files.ts';
import { RecentLog } from '../../engine/runtime/recent-log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { implement, wholeNumber } from '../cli/arguments.ts';
import { type Command, EXIT, UsageError } from '../cli/command.ts';
import { UP } from '../cli/tree/servers.ts';
import {
  type DataDir,
  dataDir,
  defaultDataPath,
  RESTORING,
  removeEndpoints,
  takeDataDir,
} from '../compose/data-dir.ts';

export const up: Command = implement(UP, async ({ values }, io) => {
  if (values.exit && !values.demo) throw new UsageError('--exit requires --demo');
  const given = values['port-base'];
  const portBase = given === undefined ? undefined : wholeNumber('port-base', given, 1024, 65_531);

  const dir = dataDir(values.data ?? defaultDataPath(process.getuid?.()));
  await using _taken = await takeDataDir(dir);
  if (await exists(join(dir.path, RESTORING)))
    throw new Failure(
      'rejected',
      `${dir.path} is incomplete: 'longshore restore' was interrupted; run it again with --force`,
    );
  await removeEndpoints(dir); // left by an `up` that was killed
  const threshold = new LogThreshold('info');
  const recent = new RecentLog();
  const log = createLogger({ level: threshold, to: { file: dir.log }, recent });
  io.err(`data directory ${dir.path}\n`);
  const port = await postgresPort(dir);
  const password = await superuserPassword(dir);

  const over = new AbortController();
  const begun = Promise.withResolvers<void>();
  const server = { dir: dir.path, port, password, binDir: values['postgres-bin'], path: io.env.PATH };
  const starting = startEmbeddedPostgres(
    { ...server, begun: begun.resolve },
    systemClock,
    log,
    AbortSignal.any([io.signal, over.signal]),
  );
  try {
    await Promise.race([begun.promise, starting]);
    await keepCompiled(dir);
    const { embeddedService } = await import('../compose/embedded-service.ts');
    const ended = await embeddedService({ dir, portBase, starting, server, threshold, log, recent, ...values }, io);
    return ended === 'stopped' ? EXIT.ok : EXIT.failed;
  } finally {
    over.abort(aborted('all other parts have stopped'));
    await starting.then(
      (postgres) => postgres.stop(),
      () => undefined, // reported by whoever awaited it
    );
  }
});

/** Enables the compile cache for what is loaded from here on. The single executable contains compiled code already. */
async function keepCompiled({ compiled }: DataDir): Promise<void> {
  await mkdir(compiled, { recursive: true, mode: 0o700 });
  if (!bundled) enableCompileCache(compiled);
}

/** Reuses the last port if it is free, so that a psql session survives a restart. */
async function postgresPort(dir: DataDir): Promise<number> {
  const last = Number(await readFile(dir.postgresPort, 'utf8').catch(() => ''));
  const port = await freePort(Number.isInteger(last) && last > 0 ? last : undefined);
  await writeWhole(dir.postgresPort, String(port), 0o644);
  return port;
}

async function superuserPassword(dir: DataDir): Promise<string> {
  const { postgresPassword: file } = dir;
  if (!existsSync(file)) await writeWhole(file, randomBytes(24).toString('base64url'), 0o600);
  return (await readFile(file, 'utf8')).trim();
}

// Finds a free TCP port on 127.0.0.1 for a server of this program.

/** The preferred port if it is free; otherwise one that the kernel chooses. */
export async function freePort(preferred: number | undefined): Promise<number> {
  return (preferred !== undefined ? await tryPort(preferred) : undefined) ?? (await tryPort(0)) ?? fail();
}

async function tryPort(port: number): Promise<number | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : undefined;
}

function fail(): never {
  throw new Failure('transient', 'no free TCP port on 127.0.0.1');
}
