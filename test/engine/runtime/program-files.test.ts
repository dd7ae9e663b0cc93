// What the program is started with.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { programArgv, RUNTIME_OPTIONS, scriptSpawner } from '../../../engine/runtime/program-files.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

t.test('however it is started from source, the runtime has the same options', async (t) => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Readonly<Record<string, string>> };
  for (const name of ['start', 'demo', 'longshore']) t.match(scripts[name], /^bin\/longshore( |$)/, name);
  t.match(textOf('bin/longshore'), `\nexec "$node" ${RUNTIME_OPTIONS.join(' ')} "$root/bin/longshore.ts" `);
  t.equal(textOf('bin/longshore.ts').split('\n')[0], `#!/usr/bin/env -S node ${RUNTIME_OPTIONS.join(' ')}`);
  t.strictSame(programArgv(), [process.execPath, ...RUNTIME_OPTIONS, join(ROOT, 'bin/longshore.ts')]);
});

t.test('the process that spawns scripts has a program of its own, whose compiled code is kept', async (t) => {
  t.strictSame(scriptSpawner('/compiled'), [
    '/usr/bin/env',
    'NODE_COMPILE_CACHE=/compiled',
    process.execPath,
    '--max-semi-space-size=1',
    join(ROOT, 'bin/spawn-scripts.ts'),
  ]);
});
