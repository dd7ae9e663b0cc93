// The direction of dependencies and the few rules of the house that a machine can check.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..');

interface Place {
  readonly name: string;
  readonly holds: (file: string) => boolean;
  /** Names of places it may import, besides itself. */
  readonly mayImport: readonly string[];
}

const below = (folder: string) => (file: string) => file.startsWith(`${folder}/`);

/** First match wins. */
const PLACES: readonly Place[] = [
  { name: 'model', holds: below('engine/model'), mayImport: ['failure'] },
  { name: 'ports', holds: below('engine/ports'), mayImport: ['model'] },
  { name: 'adapters', holds: below('engine/adapters'), mayImport: ['kernel', 'failure', 'model', 'ports'] },
  { name: 'failure', holds: (file) => file === 'engine/runtime/failure.ts', mayImport: [] },
  { name: 'kernel', holds: below('engine'), mayImport: ['failure', 'model'] },
  { name: 'actors', holds: below('actors'), mayImport: ['kernel', 'failure', 'model', 'ports'] },
  { name: 'http', holds: below('http'), mayImport: ['kernel', 'failure', 'model', 'ports'] },
  { name: 'config', holds: below('config'), mayImport: ['kernel', 'failure', 'model'] },
  {
    name: 'bin',
    holds: below('bin'),
    mayImport: ['actors', 'http', 'config', 'adapters', 'kernel', 'failure', 'model', 'ports'],
  },
];

const sources = globSync('{engine,actors,http,config,bin}/**/*.ts', { cwd: root }).sort();
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
/** Comments and strings aside, so that a word in a sentence is no finding. */
const codeOf = (file: string): string =>
  textOf(file)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|[^:'"`])\/\/.*$/gm, '$1');

function placeOf(file: string): Place {
  const place = PLACES.find((one) => one.holds(file));
  if (!place) throw new Error(`${file} has no place in the tree`);
  return place;
}

function importsOf(file: string): readonly string[] {
  const found = textOf(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...found].map(([, path]) => relative(root, join(root, dirname(file), path ?? '')));
}

/** Imports of services by the kernel that all of them share. */
const notOfKernel = (file: string): readonly string[] =>
  importsOf(file).filter((imported) => /^http\/(?!kernel\/)/.test(imported));

t.test('every import points in the allowed direction', async (t) => {
  const wrong = sources.flatMap((file) => {
    const place = placeOf(file);
    return importsOf(file)
      .filter((imported) => imported.endsWith('.ts'))
      .filter((imported) => {
        if (imported.startsWith('test/')) return true;
        const other = placeOf(imported).name;
        return other !== place.name && !place.mayImport.includes(other);
      })
      .map((imported) => `${file} imports ${imported}`);
  });
  t.same(wrong, []);
  t.ok(sources.length > 50, 'the tree was found');
});

t.test('services of http do not import each other', async (t) => {
  const serviceOf = (file: string): string | undefined => /^http\/([^/]+)\//.exec(file)?.[1];
  const wrong = sources.flatMap((file) => {
    const service = serviceOf(file);
    if (service === undefined || service === 'kernel') return service === undefined ? [] : notOfKernel(file);
    return importsOf(file).filter((imported) => ![undefined, service, 'kernel'].includes(serviceOf(imported)));
  });
  t.same(wrong, []);
});

t.test('only bin reads the environment of the process', async (t) => {
  t.same(
    sources.filter((file) => !file.startsWith('bin/') && /process\.env\b/.test(codeOf(file))),
    [],
  );
});

t.test('only the clock reads the time or sets a timer', async (t) => {
  // A socket's own `.setTimeout` is a setting, not a timer of ours.
  const timer = /(?<!\.)\b(setTimeout|setInterval|Date\.now|performance\.now)\b|new Date\(\)/;
  t.same(
    sources.filter((file) => file !== 'engine/runtime/time.ts' && timer.test(codeOf(file))),
    [],
  );
});

t.test('what runs as long as the process joins signals so that they can be let go', async (t) => {
  t.same(
    sources.filter((file) => !file.startsWith('bin/') && /\bAbortSignal\.any\b/.test(codeOf(file))),
    [],
  );
});

t.test('one file asks where the program stands: in the executable there are no files beside it', async (t) => {
  t.same(
    sources
      .filter((file) => file !== 'engine/runtime/program-files.ts' && !file.startsWith('bin/build/'))
      .filter((file) => /\bimport\.meta\b/.test(codeOf(file))),
    [],
  );
});

t.test('no file reaches for what Node or a package keeps to itself', async (t) => {
  const ways: Readonly<Record<string, RegExp>> = {
    // Ours begin with `#`. A file name may begin with `._`.
    'a member that begins with _': /(?<!['"`/])\?*\._[a-z]|\[\s*['"`]_[a-z]/i,
    'a member that begins with _, taken out of its object': /\{\s*_[a-z]\w*\s*[,:}]/i,
    'a member that begins with _, declared to be there': /^\s*(?:readonly )?_[a-z]\w*\??:/im,
    'a method of a class, called on something else': /\.prototype\b/,
    'bindings of Node': /\bprocess\.binding\b|_linkedBinding|internalBinding/,
    'symbols that are not exported for it': /getOwnPropertySymbols|\.symbols\b/,
  };
  const found = (code: string): readonly string[] =>
    Object.entries(ways).flatMap(([what, way]) => (way.test(code) ? [what] : []));
  for (const code of [
    'response._header = head',
    "response['_header']",
    'const { _header } = response',
    'interface Inner {\n  _header?: string;\n}',
    'Server.prototype.close.call(server)',
    "process.binding('fs')",
    'Object.getOwnPropertySymbols(socket)',
    'const { stringifiersSym } = pino.symbols',
  ])
    t.equal(found(code).length, 1, code);
  t.same(
    sources.flatMap((file) => found(codeOf(file)).map((what) => `${file}: ${what}`)),
    [],
  );
});

t.test('no file starts a shell', async (t) => {
  t.same(
    sources.filter((file) => /\b(execSync|exec)\(|shell:\s*true/.test(codeOf(file).replace(/\.exec\(/g, ''))),
    [],
  );
});

t.test('one table holds the delays between attempts that are not configured', async (t) => {
  t.same(
    sources.filter((file) => file !== 'engine/runtime/retry.ts' && /\bbaseMs:\s*\d/.test(codeOf(file))),
    [],
  );
});

t.test('no file outgrows what a reader can hold', async (t) => {
  const long = sources.filter((file) => textOf(file).split('\n').length > 330);
  t.same(long, []);
});

t.test('every top-level folder says what it owns', async (t) => {
  for (const folder of ['bin', 'engine', 'actors', 'http', 'config', 'docs', 'test'])
    t.match(readFileSync(join(root, folder, 'README.md'), 'utf8'), /\n/, folder);
});
