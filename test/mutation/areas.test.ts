import { join } from 'node:path';
import t from 'tap';
import { AREAS, areaOf, filesOf, NOT_MUTATED } from './areas.ts';
import { Tree } from './tree.ts';

const { sources } = new Tree(join(import.meta.dirname, '..', '..'));

t.test('every source has an area, and every area has sources', async (t) => {
  t.strictSame(
    sources.filter((file) => !areaOf(file)),
    [],
  );
  const found = new Set(sources.map((file) => areaOf(file)?.name));
  t.strictSame(
    AREAS.filter(({ name }) => !found.has(name)),
    [],
  );
  t.ok(NOT_MUTATED.every((start) => sources.some((file) => file.startsWith(start))));
});

t.test('areas, folders and files are named alike', async (t) => {
  const files = ['engine/a.ts', 'engine/adapters/b.ts', 'http/c.ts', 'http/report/d.ts', 'bin/build/e.ts', 'bin/f.ts'];
  t.strictSame(filesOf('kernel', files), ['engine/a.ts']);
  t.strictSame(filesOf('engine', files), ['engine/a.ts', 'engine/adapters/b.ts']);
  t.strictSame(filesOf('report,engine/a.ts,http/report/', files), ['engine/a.ts', 'http/report/d.ts']);
  t.strictSame(filesOf('all', files), files.toSpliced(4, 1));
  t.throws(() => filesOf('kernel,nowhere', files), { name: 'RangeError', message: /nowhere/ });
  t.throws(() => filesOf('bin/build', files), { name: 'RangeError' });
});
