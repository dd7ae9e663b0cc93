// A script as a process: its observable state, and how this process spawns one itself.

import { type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { type InputPipe, type OutputPipe, openForWriting, type ScriptPipes } from './script-pipes.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ScriptCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Runs in its own process group. */
export interface SpawnedScript {
  /** Resolves with the error if the script could not be started, or with undefined once it runs. */
  readonly spawned: Promise<Error | undefined>;
  /** Rejects when its exit status can no longer be known. */
  readonly exit: Promise<Exit>;
  /** Resolves when it has ended and no process holds its outputs. */
  readonly closed: Promise<void>;
  /** The id of its process group; 0 before it runs. */
  readonly pid: number;
  /** The start time of the leader of its group, if it is known. */
  readonly startTime?: string | undefined;
  /** Undefined when there were no descriptors left to create them. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable | undefined;
  readonly stderr: Readable | undefined;
}

/**
 * Spawns the script from this process. The kernel copies the page tables for that, which takes a large process tens of
 * milliseconds: see script-spawner.ts.
 */
export async function spawnHere(
  { program, args, cwd, env }: ScriptCommand,
  input: 'pipe' | 'ignore',
  pipes: ScriptPipes,
): Promise<SpawnedScript> {
  const outputs: OutputPipe[] = [];
  const writers: number[] = [];
  let stdin: InputPipe | undefined;
  try {
    if (input === 'pipe') stdin = await pipes.input();
    for (let n = 0; n < 2; n++) {
      const output = await pipes.output();
      outputs.push(output);
      writers.push(openForWriting(output.path));
    }
    const stdio: StdioOptions = [stdin?.reader ?? 'ignore', ...writers];
    const child = spawn(program, args, { cwd, env, detached: true, stdio });
    const exit = new Promise<Exit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const given = stdin;
    if (given) void exit.then(() => given.release());
    const spawned = new Promise<Error | undefined>((resolve) => {
      child.once('spawn', () => resolve(undefined));
      child.once('error', (error) => {
        void given?.release();
        resolve(error);
      });
    });
    const [stdout, stderr] = outputs.map((output) => output.stream());
    return {
      ...{ spawned, exit, stdout, stderr, stdin: given?.stream() },
      closed: closedAfter(exit, [stdout, stderr]),
      pid: child.pid ?? 0,
    };
  } catch (error) {
    await stdin?.release();
    return notSpawned(error as Error);
  } finally {
    // The script has its own descriptors. While these are open, nobody would notice that it closed them.
    for (const writer of writers) closeSync(writer);
    for (const output of outputs) await output.release();
    await stdin?.started();
  }
}

/** Resolves when the script has ended and its outputs are closed. */
export async function closedAfter(exit: Promise<Exit>, outputs: readonly (Readable | undefined)[]): Promise<void> {
  const closing = outputs.map((stream) => stream && !stream.closed && once(stream, 'close').catch(() => undefined));
  await Promise.all([exit, ...closing]);
}

/** @param error why it did not start */
export function notSpawned(error: Error): SpawnedScript {
  const never = new Promise<never>(() => undefined);
  const spawned = Promise.resolve(error);
  return { spawned, exit: never, closed: never, pid: 0, stdin: undefined, stdout: undefined, stderr: undefined };
}
