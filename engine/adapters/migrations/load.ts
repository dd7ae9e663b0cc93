// Migrations kept as files: `NNNN-name.sql` in one folder, from 0001 without gaps.

import { defect } from '../../runtime/failure.ts';
import type { TextFolder } from '../../runtime/program-files.ts';
import type { Migration } from './migrations.ts';

const FILE = /^([0-9]{4})-([a-z0-9-]+)\.sql$/;

/** The migrations of a folder in order. A file with another name, a gap or a number given twice is refused. */
export async function loadMigrations(folder: TextFolder): Promise<readonly Migration[]> {
  const files = (await folder.names()).toSorted();
  return Promise.all(
    files.map(async (file, index) => {
      const [, digits, name] = FILE.exec(file) ?? [];
      if (digits === undefined || name === undefined)
        throw defect(
          `'${file}' in ${folder.path} is no migration: NNNN-name.sql, lower case letters, digits and - only`,
        );
      const number = Number(digits);
      if (number !== index + 1)
        throw defect(`migration '${file}' in ${folder.path}: its number should be ${index + 1}`);
      return { number, name, sql: await folder.read(file) };
    }),
  );
}
