// Each folder with more than a few files says what it owns; and every file, folder and heading that a page names is there.

import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { anchors, beside, codeSpans, links, type Page, pages, ROOT } from './support/readmes.ts';

const TOP = ['actors', 'bin', 'config', 'docs', 'engine', 'http', 'test'];
/** More files than these want a page that says where to start. */
const FEW = 3;
const MOST_LINES = 100;

const found = pages();

t.test('every folder with more than a few source files has a README', async (t) => {
  const missing = TOP.flatMap((top) => [top, ...foldersBelow(top)]).filter(
    (folder) => sourcesIn(folder) > FEW && !existsSync(join(ROOT, folder, 'README.md')) && !isSpokenFor(folder),
  );
  t.same(missing, []);
  t.ok(found.length > TOP.length, 'pages were found');
});

t.test('a README begins with the name of its folder and is no book', async (t) => {
  const readmes = found.filter(({ file }) => file.endsWith('/README.md'));
  const headed = ({ file, text }: Page): boolean => text.startsWith(`# ${file.slice(0, -'/README.md'.length)}\n`);
  const wrong = readmes.filter((page) => !headed(page) || linesToRead(page) > MOST_LINES);
  t.same(
    wrong.map(({ file }) => file),
    [],
  );
});

t.test('every file and folder that a page names is there', async (t) => {
  t.same(
    found.flatMap((page) => pathsNamed(page).flatMap((path) => (isThere(page, path) ? [] : [`${page.file}: ${path}`]))),
    [],
  );
});

t.test('every link of a page leads to a file, and to a heading of it', async (t) => {
  t.same(
    found.flatMap((page) => links(page).flatMap((to) => (leadsSomewhere(page, to) ? [] : [`${page.file}: ${to}`]))),
    [],
  );
});

t.test('what is not there is found out', async (t) => {
  const page = (text: string): Page => ({ file: 'engine/README.md', text });
  const named = (text: string): readonly string[] =>
    pathsNamed(page(text)).filter((path) => !isThere(page(text), path));
  t.same(named('`lane.ts`, `ports/jobs.ts`, `ports/`, `engine/ports/jobs.ts`, `../http/`, `*.ts`, `jobs.ts`'), []);
  const wrong = ['lain.ts', 'ports/job.ts', 'portz/', 'engine/x/jobs.ts', '../https/', 'x*.ts'];
  t.same(named(wrong.map((path) => `\`${path}\``).join(', ')), wrong);
  t.same(named('`npm test`, `/jobs/{id}`, `DIR/objects/`, `a.json`, `x/y`, `kind: x/`'), [], 'no paths of ours');
  const leads = (to: string): boolean => leadsSomewhere(page(`[x](${to})`), to);
  t.ok(leads('../docs/metrics.md#traces') && leads('https://example.org/') && leads('ports/README.md'));
  t.notOk(leads('../docs/metrics.md#trace') || leads('ports/READ.md'));
});

/** Tables are looked up, not read. */
function linesToRead({ text }: Page): number {
  return text.split('\n').filter((line) => !line.startsWith('|')).length;
}

function foldersBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .flatMap(({ name }) => [`${folder}/${name}`, ...foldersBelow(`${folder}/${name}`)]);
}

function sourcesIn(folder: string): number {
  return readdirSync(join(ROOT, folder)).filter((name) => /\.(ts|mjs)$/.test(name)).length;
}

/** The page of the folder above names it, or it has the tests of a folder that has a page. */
function isSpokenFor(folder: string): boolean {
  const [test, ...mirrored] = folder.split('/');
  if (test === 'test' && mirrored.length > 1) return hasPage(mirrored.join('/'));
  const above = join(ROOT, folder, '..', 'README.md');
  return existsSync(above) && readFileSync(above, 'utf8').includes(`\`${folder.split('/').at(-1)}/\``);
}

function hasPage(folder: string): boolean {
  return existsSync(join(ROOT, folder, 'README.md')) || isSpokenFor(folder);
}

/** Code spans that are paths of the project: source files, folders, and whatever lies in a top folder. */
function pathsNamed(page: Page): readonly string[] {
  return codeSpans(page)
    .filter((span) => /^[\w.*][\w.*/-]*$/.test(span) && !/^[A-Z]+\//.test(span))
    .filter((span) => /\.(ts|md|sql|mjs)$/.test(span) || span.endsWith('/') || TOP.includes(span.split('/')[0] ?? ''))
    .filter((span) => !TOP.includes(span));
}

/** Beside the page, from the root, or, as a bare name, anywhere below the page's folder. */
function isThere({ file }: Page, path: string): boolean {
  const places = [beside(file, path), path, ...(/^[^/]+$/.test(path) ? [beside(file, `**/${path}`)] : [])];
  return places.some((place) => matches(place).length > 0);
}

function matches(place: string): readonly string[] {
  if (place.includes('*')) return globSync(place, { cwd: ROOT, exclude: (path) => path.includes('node_modules') });
  const there = statSync(join(ROOT, place), { throwIfNoEntry: false });
  return there && (there.isDirectory() || !place.endsWith('/')) ? [place] : [];
}

function leadsSomewhere({ file, text }: Page, to: string): boolean {
  if (/^https?:/.test(to)) return true;
  const [path = '', anchor] = to.split('#');
  const target = path === '' ? file : beside(file, path);
  if (!existsSync(join(ROOT, target))) return false;
  const there = (): string => (target === file ? text : readFileSync(join(ROOT, target), 'utf8'));
  return anchor === undefined || anchors(there()).includes(anchor);
}
