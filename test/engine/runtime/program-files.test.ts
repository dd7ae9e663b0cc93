// What the program is started with.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { programArgv, RUNTIME_OPTIONS } from '../../../engine/runtime/program-files.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

t.test('however it is started from source, the runtime has the same options', async (t) => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Readonly<Record<string, string>> };
  for (const name of ['start', 'demo', 'longshore']) t.match(scripts[name], /^bin\/longshore( |$)/, name);
  t.match(textOf('bin/longshore'), `\nexec "$node" ${RUNTIME_OPTIONS.join(' ')} "$root/bin/longshore.ts" `);
  t.equal(textOf('bin/longshore.ts').split('\n')[0], `#!/usr/bin/env -S node ${RUNTIME_OPTIONS.join(' ')}`);
  t.strictSame(programArgv(), [process.execPath, ...RUNTIME_OPTIONS, join(ROOT, 'bin/longshore.ts')]);
});

t.test('the process that spawns scripts starts with the compile cache of the service, if it has one', async (t) => {
  const dir = t.testdir();
  const argvAfter = (before: string): unknown => {
    const program = `import { enableCompileCache } from 'node:module';
      import { scriptSpawner } from ${JSON.stringify(join(ROOT, 'engine/runtime/program-files.ts'))};
      ${before}
      console.log(JSON.stringify(scriptSpawner()));`;
    const env = { PATH: process.env.PATH };
    return JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', env }),
    );
  };
  const plain = [...programArgv(), 'spawn-scripts'];
  t.strictSame(argvAfter(''), plain);
  const cached = ['/usr/bin/env', `NODE_COMPILE_CACHE=${dir}`, ...plain];
  t.strictSame(argvAfter(`enableCompileCache(${JSON.stringify(dir)});`), cached);
});
