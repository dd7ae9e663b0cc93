// The section of docs/architecture.md that names, for each everyday change, every file that changes.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ROOT } from './support/readmes.ts';

const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
const SECTION = /^## Everyday changes\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(PAGE)?.[1] ?? '';

interface Change {
  readonly number: number;
  readonly title: string;
  readonly paths: readonly string[];
}

const changes: readonly Change[] = SECTION.split(/^(?=\d+\. \*\*)/m)
  .slice(1)
  .map((text) => {
    const [, number = '', title = ''] = /^(\d+)\. \*\*(.+?)\.\*\*/.exec(text) ?? [];
    return { number: Number(number), title, paths: pathsIn(text) };
  });

/** Code spans that are paths; `/api` and commands are none. */
function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].flatMap(([, span = '']) =>
    /^\w[\w./-]*(\/|\.\w+)$/.test(span) ? [span] : [],
  );
}

/** As written, from the root: a newcomer looks nowhere else. */
function isThere(path: string): boolean {
  const found = statSync(join(ROOT, path), { throwIfNoEntry: false });
  return path.endsWith('/') ? found?.isDirectory() === true : found?.isFile() === true;
}

t.test('every path that an everyday change names is there, as it is written', async (t) => {
  t.strictSame(
    changes.flatMap(({ title, paths }) => paths.filter((path) => !isThere(path)).map((path) => `${title}: ${path}`)),
    [],
  );
  t.notOk(
    isThere('docs/architectures.md') || isThere('http/reports/') || isThere('http/report') || isThere('engine.ts'),
  );
});

t.test('every everyday change names the file to start with and the tests that see it', async (t) => {
  t.strictSame(
    changes.map(({ number }) => number),
    changes.map((_, at) => at + 1),
  );
  t.ok(changes.length > 20);
  for (const { title, paths } of changes) {
    t.notMatch(paths[0], /^test\//, `${title}: the first file is no test`);
    t.ok(
      paths.some((path) => path.startsWith('test/')),
      `${title}: a test`,
    );
  }
});
