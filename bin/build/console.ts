// npm run build:console [-- --if-stale]: builds the web console (clients/console) into clients/console/built, compressed. Names
// contain a digest of the contents. `npm ci`, `npm start` and `npm run demo` build it if it is missing or older than its sources.

import { globSync, statSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants } from 'node:zlib';
import type { Metafile } from 'esbuild';

const root = join(import.meta.dirname, '..', '..');
const BUILT = join(root, 'clients', 'console', 'built');
const MANIFEST = join(BUILT, 'manifest.json');
const ENTRY = 'clients/console/src/main.tsx';
const SOURCES = [
  'clients/console/src/**',
  'clients/typescript/src/*.ts',
  'engine/model/report/*.ts',
  'package-lock.json',
  'bin/build/console.ts',
];

const { values } = parseArgs({ options: { 'if-stale': { type: 'boolean', default: false } } });
if (!values['if-stale'] || isStale()) await buildConsole();

/** Undefined after an install without development packages; the program then runs without its console. */
async function builder(): Promise<typeof import('esbuild') | undefined> {
  try {
    return await import('esbuild');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.warn('the web console is not built: that needs the development packages (npm ci)');
    return undefined;
  }
}

function isStale(): boolean {
  const builtMs = statSync(MANIFEST, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return globSync(SOURCES, { cwd: root }).some((file) => statSync(join(root, file)).mtimeMs > builtMs);
}

async function buildConsole(): Promise<void> {
  const esbuild = await builder();
  if (!esbuild) return;
  const { metafile, outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [ENTRY, 'clients/console/src/icon.svg'],
    outdir: BUILT,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2023',
    // That of the sources extends one which a package does not contain.
    tsconfigRaw: { compilerOptions: { jsx: 'react-jsx' } },
    loader: { '.svg': 'copy' },
    define: { 'process.env.NODE_ENV': '"production"' },
    minify: true,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  // Written beside it and renamed, so that a running program never reads half of it.
  const fresh = `${BUILT}.${process.pid}`;
  await mkdir(fresh, { recursive: true });
  const sizes = new Map<string, number>();
  for (const { path, contents } of outputFiles) {
    const packed = brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
    sizes.set(basename(path), packed.length);
    await writeFile(join(fresh, `${basename(path)}.br`), packed);
  }
  const script = outputOf(metafile, ENTRY);
  const style = metafile.outputs[script]?.cssBundle;
  if (style === undefined) throw new Error('the console has no styles');
  const names = {
    script: basename(script),
    style: basename(style),
    icon: basename(outputOf(metafile, 'clients/console/src/icon.svg')),
  };
  await writeFile(join(fresh, 'manifest.json'), `${JSON.stringify({ ...names, files: [...sizes.keys()].sort() })}\n`);
  await writeFile(join(fresh, 'packages.json'), `${JSON.stringify(Object.keys(metafile.inputs).sort())}\n`);
  await rm(BUILT, { recursive: true, force: true });
  await rename(fresh, BUILT);
  const first = [...firstLoad(metafile, script), names.style, names.icon];
  const kb = (files: Iterable<string>): number =>
    Math.round([...files].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0) / 1000);
  console.log(`console: ${sizes.size} files, ${kb(sizes.keys())} KB compressed, ${kb(first)} KB at first load`);
}

function outputOf({ outputs }: Metafile, entry: string): string {
  const found = Object.keys(outputs).find((path) => outputs[path]?.entryPoint === entry);
  if (found === undefined) throw new Error(`esbuild wrote nothing for ${entry}`);
  return found;
}

/** What the page loads before a lazy page is asked for. */
function firstLoad({ outputs }: Metafile, script: string): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (path: string): void => {
    if (found.has(basename(path))) return;
    found.add(basename(path));
    for (const one of outputs[path]?.imports ?? []) if (one.kind === 'import-statement') add(one.path);
  };
  add(script);
  return found;
}
