// Resolves a Unix group by name or number.

import { readFile } from 'node:fs/promises';
import { Failure } from '../../engine/runtime/failure.ts';

const FILE = '/etc/group';

/** @param key of the configuration, for the message */
export async function groupNumber(key: string, group: string): Promise<number> {
  if (/^\d{1,9}$/.test(group)) return Number(group);
  for (const line of (await readFile(FILE, 'utf8')).split('\n')) {
    const [name, , id = ''] = line.split(':');
    if (name === group && /^\d+$/.test(id)) return Number(id);
  }
  throw new Failure('rejected', `${key}: there is no group '${group}' in ${FILE}; a numeric group id is also allowed`);
}
