// The types of clients/typescript, as they follow from the OpenAPI documents.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { documentOf, type FrontEnd } from '../http/documents.ts';

const run = promisify(execFile);
const GENERATOR = join(import.meta.dirname, 'node_modules', '.bin', 'openapi-typescript');

/** Services that users' programs call. */
export const CLIENT_DOCUMENTS = ['installer', 'access', 'report'] as const satisfies readonly FrontEnd[];

export async function typesOf(t: Test, name: FrontEnd): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-types-'));
  try {
    const [document, types] = [join(folder, 'document.json'), join(folder, 'types.ts')];
    await writeFile(document, JSON.stringify(await documentOf(t, name)));
    await run(GENERATOR, [document, '-o', types], { cwd: folder });
    return await readFile(types, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
