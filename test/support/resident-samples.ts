// The launchers of the sample plugins with their resident process, run by the script runner as a plugin host does.

import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ResidentSamples } from '../../bin/compose/resident-samples.ts';
import { CALLER_FD, writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { ChildProcessRunner } from '../../engine/adapters/scripts/child-process.ts';
import type { ScriptResult, ScriptSpec } from '../../engine/ports/script-runner.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { programArgv } from '../../engine/runtime/program-files.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { TestDatabase } from './database.ts';
import { processesBelow } from './longshore.ts';

const ECHO = join(import.meta.dirname, '..', 'fixtures', 'scripts', 'echo-args.sh');
const STOP_MS = 10_000;
/** Longer than a test: launchers have to end when they are told to. */
const GRACE_MS = 3_600_000;

interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface SamplesWorld {
  readonly dir: string;
  /** The folder of calls. */
  readonly calls: string;
  readonly launchers: Awaited<ReturnType<typeof writeSampleLaunchers>>;
  readonly resident: ResidentSamples;
  /** As a service that starts again. */
  another(): Promise<ResidentSamples>;
  /** Runs a launcher. A script that runs as a process of its own only prints what it was started with: see {@link ran}. */
  run(
    program: string,
    args: readonly string[],
    more?: Partial<ScriptSpec>,
    signal?: AbortSignal,
  ): Promise<ScriptResult>;
  /** Process ids of the resident process. */
  processes(): Promise<readonly number[]>;
  /** Process ids of launchers whose request was taken. */
  taken(): readonly number[];
  /** Whether the resident process has anything of a launcher open. */
  isServing(): Promise<boolean>;
  /** Variables of an install. */
  env(db: TestDatabase, files: string): Readonly<Record<string, string>>;
}

/**
 * @param runtimeArgv of the resident process
 * @param restMs after a crash
 */
export async function samplesWorld(
  t: Teardown,
  runtimeArgv: readonly string[] = programArgv(),
  restMs?: number,
): Promise<SamplesWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-samples-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const calls = join(dir, "it's a folder");
  const launchers = await writeSampleLaunchers(join(dir, 'plugins'), [ECHO], calls);
  const log = silentLogger();
  const residents: ResidentSamples[] = [];
  const started = async (): Promise<ResidentSamples> => {
    const options = { dir: calls, runtimeArgv, ...(restMs === undefined ? {} : { restMs }) };
    const resident = new ResidentSamples({ name: 'samples', clock: systemClock, log, ...options });
    residents.push(resident);
    await resident.start(new AbortController().signal);
    return resident;
  };
  const runner = new ChildProcessRunner({ stateDir: join(dir, 'state'), graceMs: GRACE_MS }, systemClock, log);
  t.teardown(async () => {
    for (const resident of residents) await resident.stop(systemClock.now() + STOP_MS);
    await runner[Symbol.asyncDispose]();
  });
  const resident = await started();
  let runs = 0;
  const world: SamplesWorld = {
    ...{ dir, calls, launchers, resident, another: started },
    run: (program, args, more = {}, signal = new AbortController().signal) =>
      runner.run(
        {
          ...{ program, args, cwd: dir, env: { PATH: '/usr/bin:/bin' }, maxDurationMs: 60_000 },
          ...{ runId: `samples-${process.pid}-${++runs}`, ...more },
        },
        signal,
      ),
    async processes() {
      const found: number[] = [];
      for (const pid of processesBelow(calls)) if ((await commandLine(pid)).includes('sample-scripts')) found.push(pid);
      return found;
    },
    taken: () =>
      readdirSync('/proc').flatMap((pid) => {
        const link = (fd: number): string => linkOf(`/proc/${pid}/fd/${fd}`);
        const asked = link(CALLER_FD.requests) === join(calls, 'requests') && link(CALLER_FD.reply) === '';
        return asked ? [Number(pid)] : [];
      }),
    async isServing() {
      const [pid] = await world.processes();
      // The script runner removes the names of its pipes.
      return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`).endsWith(' (deleted)'));
    },
    env: (db, files) => ({
      ...{ PATH: '/usr/bin:/bin', DATA_FILES: files },
      ...{ DB_HOST: db.host, DB_PORT: String(db.port), DB_NAME: db.database, DB_USER: db.user, DB_PASS: db.password },
      ...{ DB_SCHEMA: 'public', DB_PLATFORM: 'Postgres' },
    }),
  };
  return world;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // gone
  }
}

const commandLine = (pid: number): Promise<string> => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');

/** Who ran a script. */
export const ran = ({ stdout }: ScriptResult): 'resident' | 'own process' =>
  stdout[0] === 'sample-script' ? 'own process' : 'resident';

/** Resolves when it is so. */
export async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await systemClock.sleep(5);
}

/** An empty folder below, whatever its name holds. */
export async function folder(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path);
  return path;
}
