// Files and programs that a configuration names and that must exist where it is used: a check for `config check`, not for
// loading, which may happen on another machine.

import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Cursor } from './cursor.ts';
import { isMap, type Path, valueAt } from './path.ts';
import { childOf, type SchemaNode } from './schema-node.ts';
import type { Finding } from './validate.ts';

/** @param searchPath PATH of the environment in which the programs will run */
export async function namedFileFindings(
  schema: SchemaNode,
  document: Cursor,
  dir: string,
  searchPath: string,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { path, form } of named(schema, document.value, [])) {
    const name = String(valueAt(document.value, path));
    if (form === 'file' && !(await isReadable(resolve(dir, name))))
      findings.push({ path, found: `${JSON.stringify(name)}, which cannot be read`, allowed: 'a readable file' });
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

/** Texts of the forms `file` and `program`; malformed values are the schema's to report. */
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

const isReadable = (path: string): Promise<boolean> => permits(path, constants.R_OK);

async function isExecutable(name: string, dir: string, searchPath: string): Promise<boolean> {
  if (name.includes('/')) return permits(isAbsolute(name) ? name : resolve(dir, name), constants.X_OK);
  for (const folder of searchPath.split(delimiter))
    if (folder !== '' && (await permits(join(folder, name), constants.X_OK))) return true;
  return false;
}

async function permits(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    // Its rights mean something else.
    return !(await stat(path)).isDirectory();
  } catch {
    // Whatever the reason, it cannot be used here.
    return false;
  }
}
