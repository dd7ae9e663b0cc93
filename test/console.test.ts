// The rules of the web console that a machine can check (clients/console/README.md).

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const SRC = join(import.meta.dirname, '..', 'clients', 'console', 'src');
const MOST_LINES = 300;

const sources = globSync('**/*.{ts,tsx}', { cwd: SRC }).sort();
const textOf = (file: string): string => readFileSync(join(SRC, file), 'utf8');
const linesOf = (file: string): readonly string[] => textOf(file).split('\n');

t.test('no file outgrows what a reader can hold', async (t) => {
  t.ok(sources.length > 20, 'the sources were found');
  t.same(
    sources.filter((file) => file !== 'texts.ts' && linesOf(file).length > MOST_LINES),
    [],
  );
});

/** Words between tags, and words in attributes that people read. */
const ownTexts = (code: string): readonly string[] =>
  [
    ...code.matchAll(/^\s+([A-Z][a-z]+( [\w',]+)*[.?!]?)$/gm),
    ...code.matchAll(/<[a-zA-Z][^<>=]*>\s*([A-Za-z][\w ,.']+)\s*<\//g),
    ...code.matchAll(/\s(?:label|title|hint|advice|placeholder|aria-label|alt)="([^"]+)"/g),
  ].map(([, text = '']) => text);

t.test('all texts are in one file', async (t) => {
  t.equal(ownTexts('<p>Some words</p>\n<Field label="Name" />\n  Words alone\n').length, 3, 'texts are found');
  t.same(
    sources
      .filter((file) => file.endsWith('.tsx'))
      .flatMap((file) => ownTexts(textOf(file)).map((text) => `${file}: ${text}`)),
    [],
  );
});

t.test('only the API layer sends requests, and keeps something in the browser', async (t) => {
  const found = (pattern: RegExp, allowed: RegExp): readonly string[] =>
    sources.filter((file) => !allowed.test(file) && pattern.test(textOf(file)));
  t.same(found(/\bfetch\(|XMLHttpRequest|EventSource/, /^api\//), []);
  t.same(
    found(
      /localStorage|sessionStorage|document\.cookie|indexedDB/,
      /^(api\/(oidc|draft|begun-uploads)|shell\/theme)\.ts$/,
    ),
    [],
  );
});

t.test('a page is its folder, and takes nothing from others', async (t) => {
  const wrong = sources
    .filter((file) => file.startsWith('pages/') && file !== 'pages/pages.ts')
    .filter((file) => /from '\.\.\/(?!\.\.)/.test(textOf(file)));
  t.same(wrong, []);
});
