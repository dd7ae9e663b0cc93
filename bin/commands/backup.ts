// `longshore backup` and `longshore restore`: the data directory of `longshore up`, or an installation of `longshore serve`, as one
// file.

import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Configuration } from '../../config/configuration.ts';
import { serversOf } from '../../engine/adapters/embedded-postgres/postgres-orphan.ts';
import { parseDuration } from '../../engine/runtime/duration.ts';
import { messageOf, rejected } from '../../engine/runtime/failure.ts';
import { exists } from '../../engine/runtime/files.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { implement } from '../cli/arguments.ts';
import { type BackupOrder, backUpRunning, backUpStopped, type MadeBackup } from '../cli/backup/back-up.ts';
import { POSTGRES, placesOutside } from '../cli/backup/data-dir-parts.ts';
import { backUpInstallation, type InstallationRestored, restoreInstallation } from '../cli/backup/installation.ts';
import { restoreDataDir } from '../cli/backup/restore.ts';
import { verifyBackup } from '../cli/backup/unpacking.ts';
import { AdminClient } from '../cli/client/admin-client.ts';
import { adminUrlOf, openAdminClient } from '../cli/client/client-options.ts';
import { showProgress } from '../cli/client/transfer.ts';
import { type Command, type CommandIo, EXIT, type ExitCode, UsageError } from '../cli/command.ts';
import { loadConfig } from '../cli/load-config.ts';
import { listing } from '../cli/terminal/table.ts';
import { jsonDocument, bytes as sizeText } from '../cli/terminal/text.ts';
import { BACKUP, RESTORE } from '../cli/tree/backups.ts';
import { type DataDir, dataDir, defaultDataPath, takeDataDir } from '../compose/data-dir.ts';

export const backup: Command = implement(BACKUP, async ({ values, args: { file } }, io) => {
  const timeoutMs = parseDuration(values.timeout);
  if (timeoutMs === undefined)
    throw new UsageError(`--timeout '${values.timeout}': must be a duration such as 60s or 10m`);
  using progress = showProgress(
    { label: values.verify ? 'reading' : 'backup', unit: 'bytes' },
    values,
    io,
    systemClock,
  );
  const tell = (bytes: number): void => progress.at(bytes);
  if (values.verify) {
    const { files, bytes, head, end } = await verifyBackup(file, tell, io.signal);
    progress.finish();
    const where =
      'dataDirectory' in head ? { dataDirectory: head.dataDirectory } : { configuration: head.configuration };
    const said = { file, files, bytes, version: head.version, ...where, ...end };
    io.out(values.json ? jsonDocument(said) : listing(rows(said), io.outTerminal));
    return EXIT.ok;
  }
  if (values.config !== undefined) {
    const { made, outside } = await backUpInstallation({ file, config: values.config, timeoutMs, tell, values }, io);
    progress.finish();
    return await report(file, made, outside, values, io);
  }
  const dir = dataDir(values.data ?? defaultDataPath(process.getuid?.()));
  if (!(await exists(dir.config))) throw rejected(`${dir.path} is no data directory of 'longshore up'`);
  await using _ = await takeDataDir(dir, 'backup');
  const configuration = await loadConfig(dir.config, io, { takesMails: true });
  const port = Number(await readFile(dir.postgresPort, 'utf8'));
  const outside = placesOutside(dir, configuration, port);
  const { objectStore } = configuration.installer;
  const hasStore = objectStore.driver === 'directory' && resolve(objectStore.path) === dir.objects;
  const order: BackupOrder = { target: file, dir, outside, hasStore, clock: systemClock, tell };
  const made = await backUp(order, configuration.containerCore, port, timeoutMs, io);
  progress.finish();
  return await report(file, made, outside, values, io);
});

async function report(
  file: string,
  made: MadeBackup,
  notIncluded: readonly string[],
  { json }: { readonly json: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  for (const place of notIncluded) io.err(`warning: not in the backup: ${place}\n`);
  const { size } = await stat(file);
  const said = { file: resolve(file), size, ...made, instant: made.instant.toISOString(), notIncluded };
  io.out(json ? jsonDocument(said) : listing(rows(said), io.outTerminal));
  return EXIT.ok;
}

async function backUp(
  order: BackupOrder,
  core: Configuration['containerCore'],
  port: number,
  timeoutMs: number,
  io: CommandIo,
): Promise<MadeBackup> {
  const { dir } = order;
  // Whoever can lock the directory keeps `up` from starting.
  const stopped = await takeDataDir(dir).catch(() => undefined);
  if (stopped) {
    await using _ = stopped;
    return await backUpStopped(order, io.signal);
  }
  const client = core.http.adminListener
    ? new AdminClient({ server: adminUrlOf(core), adminToken: core.authentication?.adminToken ?? '' })
    : await openAdminClient({ data: dir.path }, io);
  const password = (await readFile(dir.postgresPassword, 'utf8')).trim();
  return await backUpRunning(order, { client, postgres: { port, password }, timeoutMs }, io.signal);
}

export const restore: Command = implement(RESTORE, async ({ values, args: { file } }, io) => {
  await stat(file).catch((cause: unknown) => {
    throw rejected(`${file} cannot be read: ${messageOf(cause)}`, { cause });
  });
  if (values.config !== undefined) {
    using progress = showProgress({ label: 'restoring', unit: 'bytes' }, values, io, systemClock);
    const tell = (bytes: number): void => progress.at(bytes);
    const restored = await restoreInstallation({ file, config: values.config, tell, values }, io);
    progress.finish();
    tellRestored(values.config, restored, values, io);
    return EXIT.ok;
  }
  const dir = dataDir(values.data ?? defaultDataPath(process.getuid?.()));
  await using _ = await takeDataDir(dir);
  await demandNoServer(dir);
  using progress = showProgress({ label: 'restoring', unit: 'bytes' }, values, io, systemClock);
  const order = { file, dir, force: values.force, clock: systemClock, tell: (bytes: number) => progress.at(bytes) };
  const { files, bytes, head, end, movedAside } = await restoreDataDir(order, io.signal);
  progress.finish();
  const said = { dataDirectory: dir.path, files, bytes, version: head.version, ...end, movedAside };
  io.out(values.json ? jsonDocument(said) : listing(rows(said), io.outTerminal));
  if (head.dataDirectory !== dir.path)
    io.err(`the backup is of ${head.dataDirectory}; paths in ${dir.config} were changed, look whether all are right\n`);
  for (const place of end.notIncluded) io.err(`warning: not in the backup: ${place}\n`);
  io.err(`next: longshore up --data ${dir.path}\n`);
  return EXIT.ok;
});

function tellRestored(
  configuration: string,
  { files, bytes, head, end, movedAside, targets }: InstallationRestored,
  { json }: { readonly json: boolean },
  io: CommandIo,
): void {
  const said = { configuration: resolve(configuration), files, bytes, version: head.version, ...end };
  io.out(
    json
      ? jsonDocument({ ...said, movedAside })
      : listing(rows({ ...said, movedAside: movedAside.join(', ') || undefined }), io.outTerminal),
  );
  for (const place of end.notIncluded) io.err(`warning: not in the backup: ${place}\n`);
  const config = `--config ${configuration}`;
  const next = ['migrate', ...targets.map((target) => `migrate-target ${target}`), 'doctor', 'serve'];
  io.err(
    `${next.map((command) => `next: longshore ${command} ${config}\n`).join('')}next: longshore reconcile --wait\n`,
  );
}

async function demandNoServer(dir: DataDir): Promise<void> {
  const data = join(dir.path, POSTGRES);
  if ((await exists(data)) && (await serversOf(data)).length > 0)
    throw rejected(`a PostgreSQL server still works in ${data}; stop it first`);
}

interface Report {
  readonly file?: string;
  readonly dataDirectory?: string;
  readonly configuration?: string;
  readonly instant: string;
  readonly files: number;
  readonly bytes: number;
  readonly size?: number;
  readonly heldMs?: number;
  readonly version?: string;
  readonly movedAside?: string | undefined;
}

function rows(report: Report): readonly (readonly [string, string | number])[] {
  const { file, dataDirectory, configuration, instant, files, bytes, size, heldMs, version, movedAside } = report;
  const all: readonly (readonly [string, string | number | undefined])[] = [
    ['backup', file],
    ['data directory', dataDirectory],
    ['configuration', configuration],
    ['state of', instant],
    ['version', version],
    ['files', files],
    ['content', sizeText(bytes)],
    ['size', size === undefined ? undefined : sizeText(size)],
    ['changes waited', heldMs === undefined ? undefined : `${heldMs} ms`],
    ['moved aside', movedAside],
  ];
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}
