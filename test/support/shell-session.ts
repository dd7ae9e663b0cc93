// A command in a shell of its own, as somebody enters it at a terminal: told what it says, ended by Ctrl-C.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { processesBelow, ROOT } from './longshore.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface ShellSession {
  /** All that was said, standard output and error together. */
  readonly said: readonly string[];
  /** Resolves at the first line that matches, also one of before; rejects when everything ended without one. */
  until(pattern: RegExp): Promise<void>;
  /** To the whole group, as a terminal does it; resolves when everything has ended. */
  interrupt(): Promise<void>;
}

/** @param dir where it keeps what it makes: whatever still runs there when the test ends is killed */
export function shellSession(
  t: Teardown,
  script: string,
  dir: string,
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): ShellSession {
  const { cwd = ROOT, env = process.env } = options;
  const child = spawn('bash', ['-euc', script], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close').then(() => undefined);
  const said: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      said.push(line);
      for (const look of waiting) look();
    });
  const interrupt = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGINT');
    await ended;
  };
  t.teardown(async () => {
    await interrupt();
    for (const pid of processesBelow(dir)) process.kill(pid, 'SIGKILL');
  });
  return {
    said,
    interrupt,
    async until(pattern) {
      const found = Promise.withResolvers<void>();
      const look = (): void => {
        if (said.some((line) => pattern.test(line))) found.resolve();
      };
      waiting.add(look);
      look();
      void ended.then(() => found.reject(new Error(`ended without ${pattern}:\n${said.join('\n')}`)));
      await found.promise.finally(() => waiting.delete(look));
    },
  };
}
