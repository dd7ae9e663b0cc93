import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import t from 'tap';
import { findProgram } from '../../../../http/kernel/pipeline/find-program.ts';

const GONE = { kind: 'transient', message: 'it does not exist or is not executable' };
const dir = t.testdir({ first: {}, second: {} });
const [first, second] = [join(dir, 'first'), join(dir, 'second')];
await writeFile(join(second, 'blast'), '', { mode: 0o755 });
await writeFile(join(first, 'notes'), '', { mode: 0o644 });

t.test('a name is looked for in every directory of the path', async (t) => {
  await t.resolves(findProgram('blast', `${first}:${second}`));
  await t.rejects(findProgram('blast', first), GONE);
});

t.test('a path is the program itself, whatever the directories are', async (t) => {
  await t.resolves(findProgram(join(second, 'blast'), first));
  await mkdir(join(first, 'bin'));
  await writeFile(join(first, 'bin', 'tool'), '', { mode: 0o755 });
  await t.rejects(findProgram('bin/tool', first), GONE);
});

t.test('a file that may not be executed is no program', async (t) => {
  await t.rejects(findProgram('notes', first), GONE);
  await t.rejects(findProgram(join(first, 'notes'), second), GONE);
});

t.test('a directory that is not absolute depends on where the process runs, and is passed over', async (t) => {
  await t.rejects(findProgram('blast', `:${relative(process.cwd(), second)}`), GONE);
});
