// Somebody who has nothing but a copy of the executable: an empty directory of his own, no rights, no environment.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Finished, processesBelow, ROOT } from '../support/longshore.ts';

export const DIST = join(ROOT, 'dist');
/** Where we are root; else we are plain users ourselves. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

type Environment = Readonly<Record<string, string>>;

export interface PlainUser {
  /** Where he stands; empty at first. */
  readonly dir: string;
  /** To the end of the program. */
  run(args: readonly string[], env?: Environment): Promise<Finished>;
  start(args: readonly string[], env?: Environment): ChildProcess;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

export async function plainUser(t: Teardown): Promise<PlainUser> {
  const base = await mkdtemp(join(tmpdir(), 'longshore-binary-'));
  t.teardown(async () => {
    for (const pid of processesBelow(base)) process.kill(pid, 'SIGKILL');
    await rm(base, { recursive: true, force: true });
  });
  await chmod(base, 0o755);
  const program = join(base, 'longshore');
  await copyFile(join(DIST, 'longshore'), program);
  await chmod(program, 0o755);
  const dir = join(base, 'empty');
  await mkdir(dir);
  if (NOBODY.uid !== undefined) await chown(dir, NOBODY.uid, NOBODY.gid);
  const start = (args: readonly string[], env: Environment = {}): ChildProcess =>
    spawn(program, args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'], ...NOBODY });
  return {
    dir,
    start,
    async run(args, env) {
      const child = start(args, env);
      const said = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const)
        child[name]?.setEncoding('utf8').on('data', (text: string) => {
          said[name] += text;
        });
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, ...said };
    },
  };
}
