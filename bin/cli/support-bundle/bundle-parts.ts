// The parts of a support bundle. The failure of a part says why it is missing.

import { open, readFile, statfs } from 'node:fs/promises';
import { arch, cpus, freemem, loadavg, release, totalmem, uptime, version } from 'node:os';
import type { Configuration } from '../../../config/configuration.ts';
import type { LoadResult } from '../../../config/load.ts';
import { printDocument } from '../../../config/reference.ts';
import { formatFault } from '../../../config/validate.ts';
import { decodeUtf8 } from '../../../engine/model/utf8.ts';
import { messageOf, rejected } from '../../../engine/runtime/failure.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { writtenFolders } from '../../compose/watch-dependencies.ts';
import type { AdminClient } from '../client/admin-client.ts';
import { checksOf } from '../doctor/checks.ts';
import { reportJson, runChecks } from '../doctor/run-checks.ts';
import { builtVersion } from '../version.ts';
import { databaseFacts } from './database-facts.ts';
import { valueWithoutQuotes, withoutQuotes } from './redaction.ts';

export interface BundlePart {
  /** Its file in the bundle. */
  readonly name: string;
  /** If it exceeds the maximum size, its end is kept instead of its beginning. */
  readonly isLog?: true;
  read(signal: AbortSignal): Promise<string>;
}

export interface BundleSources {
  /** Path of the configuration; undefined without one. */
  readonly file: string | undefined;
  readonly loaded: LoadResult<Configuration> | undefined;
  /** Rejects if the server's address or its administrator token is unknown. */
  readonly client: () => Promise<AdminClient>;
  readonly log: string | undefined;
  readonly postgresLog: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lines: number;
}

const JOBS = 1_000;
/** Five minutes: 288 values of each series. */
const HISTORY_STEP = 300;
/** How much of the end of a log is read. */
const LOG_BYTES = 16 * 1024 * 1024;

export function bundleParts(sources: BundleSources): readonly BundlePart[] {
  const { file, loaded, client } = sources;
  const configuration = (): Configuration => {
    if (!loaded) throw rejected('no configuration was named; use --config FILE or --data DIR');
    if (!loaded.ok) throw rejected('the configuration has faults, see configuration.yaml');
    return loaded.configuration;
  };
  const asked = (name: string, ask: (client: AdminClient, signal: AbortSignal) => Promise<unknown>): BundlePart => ({
    name,
    read: async (signal) => json(valueWithoutQuotes(await ask(await client(), signal))),
  });
  return [
    { name: 'version.json', read: async () => json({ ...(await builtVersion()), node: process.version }) },
    { name: 'system.json', read: async () => json(await systemFacts(loaded?.ok ? loaded.configuration : undefined)) },
    { name: 'configuration.yaml', read: async () => configurationText(loaded) },
    {
      name: 'doctor.json',
      read: async (signal) => {
        const checks = await checksOf(configuration(), { file: file ?? '', env: sources.env, clock: systemClock });
        return reportJson(await runChecks(checks, systemClock, signal));
      },
    },
    { name: 'databases.json', read: async (signal) => json(await databaseFacts(configuration(), signal)) },
    asked('health.json', (admin, signal) => admin.health(signal)),
    { name: 'metrics.txt', read: async (signal) => (await client()).metrics(signal) },
    asked('metrics-history.json', (admin, signal) => admin.history('', HISTORY_STEP, signal)),
    asked('jobs.json', (admin, signal) => admin.jobs({ limit: JOBS }, signal)),
    asked('pauses.json', (admin, signal) => admin.pauses(signal)),
    asked('reconciler.json', (admin, signal) => admin.reconcileRuns(signal)),
    { name: 'longshore.log', isLog: true, read: () => logText(sources.log, sources.lines, ownLine) },
    { name: 'postgres.log', isLog: true, read: () => logText(sources.postgresLog, sources.lines, postgresLine) },
  ];
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function configurationText(loaded: LoadResult<Configuration> | undefined): string {
  if (!loaded) throw rejected('no configuration was named; use --config FILE or --data DIR');
  if (loaded.ok) return printDocument(loaded.document);
  return `# The file has faults:\n${loaded.faults.map((fault) => `# ${formatFault(fault)}\n`).join('')}`;
}

async function systemFacts(configuration: Configuration | undefined): Promise<object> {
  const folders = configuration
    ? writtenFolders(configuration, Object.keys(configuration.installer.plugins), '/tmp')
    : [];
  const disks = await Promise.all(
    folders.map(async ({ role, folder }) => {
      const disk = await statfs(folder).catch((error: unknown) => messageOf(error));
      if (typeof disk === 'string') return { role, folder, failure: disk };
      const { bsize, blocks, bavail, files, ffree } = disk;
      return { role, folder, bytes: bsize * blocks, freeBytes: bsize * bavail, files, freeFiles: ffree };
    }),
  );
  return {
    system: { release: release(), version: version(), arch: arch(), uptimeSeconds: Math.round(uptime()) },
    release: await textOf('/etc/os-release'),
    processors: { count: cpus().length, model: cpus()[0]?.model, load: loadavg() },
    memory: { bytes: totalmem(), freeBytes: freemem() },
    cgroup: { memoryMax: await textOf('/sys/fs/cgroup/memory.max'), cpuMax: await textOf('/sys/fs/cgroup/cpu.max') },
    limits: await textOf('/proc/self/limits'),
    disks,
  };
}

/** Undefined where there is no such file. */
const textOf = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);

/** The last lines of a log, each as `shown` shows it. */
async function logText(
  file: string | undefined,
  lines: number,
  shown: (line: string) => string | undefined,
): Promise<string> {
  if (file === undefined) throw rejected('the location of the log is unknown; use --log FILE or --data DIR');
  await using handle = await open(file);
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(Math.min(size, LOG_BYTES));
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, size - bytes.length);
  const from = size > bytes.length ? bytes.indexOf('\n') + 1 : 0;
  const text = decodeUtf8(bytes.subarray(from, bytesRead));
  if (text === undefined) throw rejected('the log is not UTF-8');
  const found = text.split('\n').filter((line) => line !== '');
  const kept = found.slice(-lines).map(shown);
  return kept.flatMap((line) => (line === undefined ? [] : [`${line}\n`])).join('');
}

function ownLine(line: string): string {
  try {
    return JSON.stringify(valueWithoutQuotes(JSON.parse(line)));
  } catch {
    return withoutQuotes(line);
  }
}

/** Details, contexts and statements may have values of rows. */
const postgresLine = (line: string): string | undefined =>
  /\b(?:LOG|WARNING|ERROR|FATAL|PANIC): /.test(line) ? withoutQuotes(line) : undefined;
