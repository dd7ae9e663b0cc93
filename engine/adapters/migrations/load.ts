// Loads the migrations of a folder: files named `NNNN-name.sql`, from 0001 without gaps.

import { defect } from '../../runtime/failure.ts';
import type { TextFolder } from '../../runtime/program-files.ts';
import type { Migration } from './migrations.ts';

const FILE = /^([0-9]{4})-([a-z0-9-]+)\.sql$/;

/** Returns the migrations in order. Throws when a file has another name, or when a number is missing or occurs twice. */
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
