// Checks that the programs that the service runs exist and are executable.

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { type Check, fault, type Problem, warning } from './check.ts';
import { codeOf } from './error-codes.ts';

export interface Program {
  /** For example `script import`. */
  readonly name: string;
  /** A path, or a name that is searched in `path`. */
  readonly program: string;
  /** Path in the configuration. */
  readonly key: string;
}

export interface ProgramsOptions {
  readonly name: string;
  readonly where: string;
  readonly programs: readonly Program[];
  /** Colon-separated directories, for programs given by name. */
  readonly path: string;
  /** Whether the service works without them; default false. */
  readonly optional?: boolean;
}

export const programsCheck = ({ name, where, programs, path, optional = false }: ProgramsOptions): Check => ({
  name,
  where,
  tried: `look for ${programs.length} program${programs.length === 1 ? '' : 's'}`,
  look: async () => ({ problems: (await Promise.all(programs.map((one) => problemsOf(one, path, optional)))).flat() }),
  explain: () => 'inspect them: is their disk mounted and healthy?',
});

async function problemsOf(
  { name, program, key }: Program,
  path: string,
  optional: boolean,
): Promise<readonly Problem[]> {
  const problem = optional ? warning : fault;
  const dirs = path.split(delimiter).filter(isAbsolute);
  const places = program.includes('/') ? [program] : dirs.map((dir) => join(dir, program));
  let closed: string | undefined;
  for (const place of places) {
    const found = await tried(place);
    if (found === 'runs') return [];
    if (found === 'closed') closed ??= place;
  }
  return closed === undefined
    ? [problem(`${name}: ${program} does not exist`, `install it, or correct ${key}`)]
    : [problem(`${name}: ${closed} is not executable for user id ${process.getuid?.()}`, `chmod +x ${closed}`)];
}

async function tried(place: string): Promise<'runs' | 'closed' | 'absent'> {
  try {
    if (!(await stat(place)).isFile()) return 'absent';
    await access(place, constants.X_OK);
    return 'runs';
  } catch (error) {
    return codeOf(error) === 'EACCES' ? 'closed' : 'absent';
  }
}
