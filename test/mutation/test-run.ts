// One test file in a process group of its own. It ends with the file, at its first failure, or when its time is over.

import { spawn } from 'node:child_process';

/** The end of what a file printed, for those that fail without a mutant. */
const TAIL_CHARACTERS = 4_000;
export interface TestFile {
  readonly file: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly limitMs: number;
}

export interface TestRun {
  readonly end: 'passed' | 'failed' | 'timeout';
  readonly ms: number;
  /** The test that failed first, or what the process said last. */
  readonly failure: string;
}

/** Rejects with the signal's reason when that aborts; the process is ended before. */
export async function runTestFile({ file, cwd, env, limitMs }: TestFile, signal: AbortSignal): Promise<TestRun> {
  signal.throwIfAborted();
  const began = performance.now();
  const child = spawn(process.execPath, [file], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let line = '';
  let failure: string | undefined;
  let timedOut = false;
  const end = (): void => endGroup(child.pid);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-TAIL_CHARACTERS);
    line += text;
    const lines = line.split('\n');
    line = lines.pop() ?? '';
    failure ??= lines.find(saysNo)?.trim();
    if (failure !== undefined) end();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-TAIL_CHARACTERS);
  });
  const limit = setTimeout(() => {
    timedOut = true;
    end();
  }, limitMs);
  signal.addEventListener('abort', end, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      // Not `close`: a process that was left behind may hold the pipes.
      child.once('exit', resolve);
    });
    signal.throwIfAborted();
    const ms = performance.now() - began;
    if (failure !== undefined) return { end: 'failed', ms, failure };
    if (timedOut) return { end: 'timeout', ms, failure: '' };
    return code === 0 ? { end: 'passed', ms, failure: '' } : { end: 'failed', ms, failure: said.trim() };
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', end);
    end();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** A line of TAP; what is still to do or skipped is no failure. */
const saysNo = (line: string): boolean => /^ *(not ok\b|Bail out!)/.test(line) && !/ # (TODO|SKIP)\b/i.test(line);

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Everything in it has ended.
  }
}
