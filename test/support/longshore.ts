// Runs the real program for a test: starts it, waits for what it says (no polling, no sleeping), ends it by pid.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { programArgv } from '../../engine/runtime/program-files.ts';
import { freePortsInARow } from './ports.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
/** The program and what it is given first: from source, or the single executable that is named. */
const [PROGRAM, ...FIRST] = process.env.LONGSHORE_BINARY ? [process.env.LONGSHORE_BINARY] : programArgv();

interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function longshore(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Finished> {
  const child = spawn(PROGRAM, [...FIRST, ...args], { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}

export interface Endpoints {
  readonly installer: string;
  readonly handler: string;
  readonly report: string;
  readonly access: string;
  readonly pluginHost: string;
  readonly adminToken: string;
  readonly pid: number;
}

export interface Up {
  readonly dir: string;
  readonly endpoints: Endpoints;
  readonly child: ChildProcess;
  /** What it has printed so far, on both streams. */
  printed(): string;
  /** Bearer token of a user. */
  token(user: string, ...options: string[]): Promise<string>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL to the supervisor alone, as a crash would. */
  crash(): Promise<void>;
}

export async function tempDir(t: Teardown): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-e2e-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** The first of five free ports in a row, as `up` wants them. */
export async function freePortBase(): Promise<number> {
  const [base = 0] = await freePortsInARow(5);
  return base;
}

/** `longshore up` on the directory, ready when it resolves; ended with the test, whatever happened. */
export async function up(
  t: Teardown,
  dir: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Up> {
  const child = spawn(PROGRAM, [...FIRST, 'up', '--data', dir, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => printed.push(bytes));
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return (await exited)[0];
  };
  t.teardown(async () => {
    await end('SIGTERM');
    // A supervisor that was killed on purpose leaves its database; no test may.
    for (const pid of processesBelow(dir)) process.kill(pid, 'SIGKILL');
  });
  await said(child, /^ready\b/, exited);
  const endpoints = JSON.parse(await readFile(join(dir, 'endpoints.json'), 'utf8')) as Endpoints;
  return {
    dir,
    endpoints,
    child,
    printed: () => Buffer.concat(printed).toString(),
    async token(user, ...options) {
      const { stdout, stderr, code } = await longshore(['token', '--data', dir, '--user', user, ...options]);
      if (code !== 0) throw new Error(`token: ${stderr}`);
      return stdout.trim();
    },
    stop: () => end('SIGTERM'),
    crash: async () => {
      await end('SIGKILL');
    },
  };
}

export interface Running {
  readonly pid: number;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Sends a signal; resolves with the first line that matches afterwards, rejects when the process ends instead. */
  says(pattern: RegExp, signal: NodeJS.Signals): Promise<string>;
  /** SIGKILL. */
  crash(): Promise<void>;
}

/** A long-running command, ready when its log on standard output says so; ended with the test, whatever happened. */
export async function running(
  t: Teardown,
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Running> {
  const child = spawn(PROGRAM, [...FIRST, ...args], { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const stop = async (): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    return (await exited)[0];
  };
  t.teardown(stop);
  const ready = Promise.withResolvers<void>();
  const heard: string[] = [];
  const awaited = new Map<RegExp, (line: string) => void>();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      for (const [pattern, resolve] of awaited) if (pattern.test(line)) resolve(line);
      // What it says later is of no use here, and may be long.
      if (heard.length < 1_000) heard.push(line);
      if (/"msg":"ready"/.test(line)) ready.resolve();
    });
  void exited.then(() => ready.reject(new Error(`ended before it was ready:\n${heard.join('\n')}`)));
  await ready.promise;
  return {
    pid: child.pid ?? 0,
    stop,
    async says(pattern, signal) {
      const said = new Promise<string>((resolve) => awaited.set(pattern, resolve));
      child.kill(signal);
      return await Promise.race([said, exited.then(() => Promise.reject(new Error(`ended by ${signal}`)))]);
    },
    async crash() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Resolves at the first line of stderr that matches; rejects with all that was said when the process ends before. */
async function said(child: ChildProcess, pattern: RegExp, exited: Promise<unknown>): Promise<void> {
  if (!child.stderr) throw new Error('stderr is not piped');
  const heard: string[] = [];
  const lines = createInterface({ input: child.stderr });
  child.stdout?.resume();
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      heard.push(line);
      if (pattern.test(line)) resolve();
    });
    void exited.then(() => reject(new Error(`ended before it was ready:\n${heard.join('\n')}`)));
  });
}

/** Living processes (zombies aside) that work in the directory or were started with it as an argument. */
export function processesBelow(dir: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        if (/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) return false;
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return [cwd, ...words].some((word) => word === dir || word.startsWith(`${dir}/`));
      } catch {
        return false; // gone meanwhile
      }
    })
    .map(Number);
}
