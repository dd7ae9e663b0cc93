// River, which is written in Go (river/main.go): compiled by the Go toolchain and run as a program of its own.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { DurableServer } from './durable-server.ts';
import type { JobEngine } from './job-engine.ts';

const SOURCE = join(import.meta.dirname, 'river');

/** @param workers each has one job in memory */
export async function river(server: DurableServer, name: string, workers: number): Promise<JobEngine> {
  const database = await server.database(name);
  const program = join(tmpdir(), `longshore-bench-river-${process.getuid?.() ?? 0}`);
  // Go keeps what it has compiled.
  await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: SOURCE });
  const { user, password, host, port } = server.postgres;
  const child = spawn(program, [`postgres://${user}:${password}@${host}:${port}/${database}`, String(workers)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('River ended');
    return value;
  };
  await answer();
  const command = (text: string): Promise<string> => {
    child.stdin.write(`${text}\n`);
    return answer();
  };
  return {
    async fill(count) {
      await command(`fill ${count}`);
    },
    drain: async (count) => Number(await command(`drain ${count}`)) / 1_000,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}
