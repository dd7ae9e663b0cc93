// Bundles all sources and packages into three files: the main script of the executable, the program that it runs, and the entry
// point of the program's worker threads.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { BUNDLED_THREAD } from '../../engine/runtime/program-files.ts';

interface Bundles {
  /** Sources of all bundles, as paths from the root. */
  readonly inputs: readonly string[];
}

/**
 * Writes `start.cjs`, `longshore.cjs` and `thread.js` to `dir`, in ASCII. The same sources give the same bytes, whatever their
 * directory.
 */
export async function bundle(root: string, dir: string): Promise<Bundles> {
  const common = {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node26',
    // The result contains paths. They must be relative to the root, even when packages are linked from elsewhere.
    preserveSymlinks: true,
    // Classes keep the names that appear in logs and errors.
    keepNames: true,
    // Optional native modules, without which the libraries work as well.
    external: ['pg-native', '@napi-rs/nice'],
    plugins: [threadsInside(root)],
    // Only engine/runtime/program-files.ts uses import.meta, and not inside of the executable (test/architecture.test.ts).
    logOverride: { 'empty-import-meta': 'silent' },
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  } satisfies BuildOptions;
  // CommonJS, because the code cache of ES modules cannot be stored in the executable.
  const start = await build({
    ...common,
    entryPoints: ['bin/build/inside/start.ts'],
    format: 'cjs',
    outfile: join(dir, 'start.cjs'),
  });
  const program = await build({
    ...common,
    entryPoints: ['bin/longshore.ts'],
    format: 'cjs',
    outfile: join(dir, 'longshore.cjs'),
  });
  // Run by `eval` in global scope, so its names must not leak (IIFE).
  const thread = await build({
    ...common,
    entryPoints: ['node_modules/piscina/dist/worker.js'],
    format: 'iife',
    outfile: join(dir, 'thread.js'),
  });
  for (const file of ['start.cjs', 'longshore.cjs', 'thread.js']) await toAscii(join(dir, file));
  return { inputs: inputsOf(start.metafile, program.metafile, thread.metafile) };
}

async function toAscii(path: string): Promise<void> {
  await writeFile(path, inAscii(await readFile(path, 'utf8')));
}

/**
 * V8 stores a source that has any other character with two bytes for each character. The bundler escapes those in strings; what
 * is left is in comments and regular expressions, where an escape means the same.
 * @throws Error if one is in a raw template, where it would not
 */
export function inAscii(source: string): string {
  const [raw] = /\braw`[^`]*[^\0-\x7f]/.exec(source) ?? [];
  if (raw !== undefined) throw new Error(`only ASCII characters are allowed in String.raw, not ${raw}`);
  return source.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Both ends of a worker thread load files; this redirects them to the bundle. */
const threadsInside = (root: string): Plugin => ({
  name: 'threads-inside',
  setup(on) {
    on.onResolve({ filter: /^node:worker_threads$/ }, ({ importer }) =>
      importer.endsWith('/piscina/dist/worker_pool/index.js')
        ? { path: join(root, 'bin/build/inside/pool-threads.ts') }
        : undefined,
    );
    on.onLoad({ filter: /\/piscina\/dist\/worker\.js$/ }, async ({ path }) => ({
      loader: 'js',
      contents: replaceOnce(
        await readFile(path, 'utf8'),
        'async function getHandler(filename, name) {',
        (head) =>
          `${head}\n  if (filename === ${JSON.stringify(BUNDLED_THREAD)})` +
          ` return require(${JSON.stringify(join(root, 'bin/compose/lane-thread.ts'))}).default;`,
      ),
    }));
  },
});

/** Fails when the library changed, so that a person checks the patch. */
function replaceOnce(text: string, part: string, by: (part: string) => string): string {
  const times = text.split(part).length - 1;
  if (times !== 1) throw new Error(`'${part}' occurs ${times} times in the file to patch, expected once`);
  return text.replace(part, by);
}

const inputsOf = (...files: readonly Metafile[]): readonly string[] =>
  [...new Set(files.flatMap(({ inputs }) => Object.keys(inputs)))].sort();
