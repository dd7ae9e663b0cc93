// Files and programs that the configuration names and that must exist where it is used.

import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { type Cursor, isMap, type Path, valueAt } from './path.ts';
import { childOf, type SchemaNode } from './schema-node.ts';
import type { Finding } from './validate.ts';

/** Says why a file cannot be read, after its name. */
export function unreadable(error: unknown): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'which does not exist';
    case 'EISDIR':
      return 'which is a folder';
    case 'EACCES':
    case 'EPERM':
      return 'which this user may not read';
    default:
      return `which cannot be read (${code})`;
  }
}

/**
 * Checks that files and programs exist that the configuration names. Is for `config check`, not for loading, which may happen
 * on another machine.
 * @param searchPath PATH of the environment in which the programs will run
 */
export async function namedFileFindings(
  schema: SchemaNode,
  document: Cursor,
  dir: string,
  searchPath: string,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { path, form } of named(schema, document.value, [])) {
    const name = String(valueAt(document.value, path));
    const problem = form === 'file' ? await unreadableFile(resolve(dir, name), constants.R_OK) : undefined;
    if (problem !== undefined) findings.push(fileFinding(path, name, dir, problem));
    if (form === 'program' && !(await isExecutable(name, dir, searchPath)))
      findings.push({
        path,
        found: `${JSON.stringify(name)}, which is no executable here`,
        allowed:
          'one executable: a name on PATH or a path; arguments go into `arguments`, a shell is written as /bin/sh -c',
      });
  }
  return findings;
}

/**
 * Checks that the files exist that a process reads at its start. Whether it may read them depends on its user, and it is told
 * when it does.
 */
export async function missingFileFindings(
  schema: SchemaNode,
  document: Cursor,
  dir: string,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { path, form } of named(schema, document.value, [])) {
    if (form !== 'file' || path.at(-1) === 'privateKeyFile') continue;
    const name = String(valueAt(document.value, path));
    const problem = await unreadableFile(resolve(dir, name), constants.F_OK);
    if (problem !== undefined) findings.push(fileFinding(path, name, dir, problem));
  }
  return findings;
}

function fileFinding(path: Path, name: string, dir: string, problem: string): Finding {
  const place = isAbsolute(name) ? '' : ` (${resolve(dir, name)})`;
  return { path, found: `${JSON.stringify(name)}${place}, ${problem}`, allowed: 'a readable file' };
}

/** Undefined if it is a file that permits this. */
async function unreadableFile(path: string, mode: number): Promise<string | undefined> {
  try {
    await access(path, mode);
    return (await stat(path)).isDirectory() ? unreadable({ code: 'EISDIR' }) : undefined;
  } catch (error) {
    return unreadable(error);
  }
}

/** Values of the forms `file` and `program`. The schema reports malformed ones. */
function named(
  schema: SchemaNode,
  value: unknown,
  path: Path,
): readonly { readonly path: Path; readonly form: 'file' | 'program' }[] {
  const form = schema['x-form'];
  if (form === 'file' || form === 'program') return typeof value === 'string' && value !== '' ? [{ path, form }] : [];
  const steps = Array.isArray(value) ? [...value.keys()] : isMap(value) ? Object.keys(value) : [];
  return steps.flatMap((step) => {
    const child = childOf(schema, value, step);
    return child ? named(child, valueAt(value, [step]), [...path, step]) : [];
  });
}

async function isExecutable(name: string, dir: string, searchPath: string): Promise<boolean> {
  if (name.includes('/')) return permits(isAbsolute(name) ? name : resolve(dir, name), constants.X_OK);
  for (const folder of searchPath.split(delimiter))
    if (folder !== '' && (await permits(join(folder, name), constants.X_OK))) return true;
  return false;
}

async function permits(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    // The execute bit of a directory means something else.
    return !(await stat(path)).isDirectory();
  } catch {
    // It cannot be used here, whatever the reason.
    return false;
  }
}
