// The files of the web console (clients/console), as `npm run build:console` writes them: compressed, with names that change with
// their contents.

import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { programBytes, programFile } from '../../../engine/runtime/program-files.ts';
import { cached } from '../../kernel/openapi/cached.ts';

const BUILT = 'clients/console/built';

interface Manifest {
  /** What the page loads first. */
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly files: readonly string[];
}

interface ConsoleFile {
  readonly type: string;
  readonly packed: () => Promise<Buffer>;
  readonly unpacked: () => Promise<Buffer>;
}

export interface ConsoleFiles extends Omit<Manifest, 'files'> {
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * The files of today's build; undefined when the console is not built. A checkout may build it again while the program runs. All
 * responses share the bytes.
 */
export function consoleFiles(): () => Promise<ConsoleFiles | undefined> {
  let last: { readonly text: string; readonly built: ConsoleFiles } | undefined;
  return async () => {
    const text = await programFile(`${BUILT}/manifest.json`).catch(() => undefined);
    if (text === undefined) return undefined;
    if (last?.text !== text) {
      const { files, ...first } = JSON.parse(text) as Manifest;
      last = { text, built: { ...first, files: new Map(files.map((name) => [name, consoleFile(name)])) } };
    }
    return last.built;
  };
}

function consoleFile(name: string): ConsoleFile {
  const packed = cached(() => programBytes(`${BUILT}/${name}.br`));
  return {
    type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    packed,
    unpacked: cached(async () => promisify(brotliDecompress)(await packed())),
  };
}
