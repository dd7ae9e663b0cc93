// docs/contract is what test/contract has, and comments that lead to a page lead to a heading of it.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { contractPages } from './support/contract-pages.ts';
import { anchors, ROOT } from './support/readmes.ts';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const SOURCES = globSync('{engine,actors,http,config,bin,test}/**/*.{ts,sql}', {
  cwd: ROOT,
  exclude: (path) => path.includes('node_modules'),
});
const COMMENT = /^\s*(?:\/\/|\/?\*|--).*$/gm;
/** Such as `docs/contract/installer.md#errors`. */
const REFERENCE = /\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g;

t.test('docs/contract has every row of the contracts', async (t) => {
  for (const [file, text] of contractPages()) t.equal(read(file), text, `${file}: npm run docs:contract`);
});

t.test('what comments say of pages is there', async (t) => {
  const named = SOURCES.flatMap((file) => (comments(file).match(REFERENCE) ?? []).map((to) => ({ file, to })));
  t.ok(named.length > 40);
  t.strictSame(
    named.filter(({ to }) => !leadsSomewhere(to)),
    [],
  );
  t.notOk(leadsSomewhere('docs/contract/installer.md#error') || leadsSomewhere('docs/contract/installers.md'));
});

t.test('no comment names a document that is not here', async (t) => {
  t.strictSame(
    SOURCES.filter((file) => /\bcontract [123]\b/i.test(comments(file))),
    [],
  );
});

const comments = (file: string): string => (read(file).match(COMMENT) ?? []).join('\n');

function leadsSomewhere(to: string): boolean {
  const [file = '', anchor] = to.split('#');
  try {
    const there = anchors(read(file));
    return anchor === undefined || there.includes(anchor);
  } catch {
    return false;
  }
}
