// The file rows of a dataset: uploaded files, files to install, documents and properties.

import type { FileEntry } from '../../model/metadata.ts';
import type { SqlParameters } from '../postgres/sql-parameters.ts';
import { storableText } from '../postgres/storable-text.ts';

export const FILE_FOLDER_NAMES = ['upload', 'install', 'document', 'property'] as const;
export type FileFolderName = (typeof FILE_FOLDER_NAMES)[number];

/** CTEs that replace the files of a folder. `from` names a CTE with the dataset's id. */
export function replaceFiles(
  folder: FileFolderName,
  files: readonly FileEntry[],
  from: string,
  parameters: SqlParameters,
): string[] {
  const names = parameters.add(
    files.map((file) => storableText(file.name)),
    'text[]',
  );
  return [
    `dropped_${folder}_files as (
      delete from dataset_file t using ${from} f
      where t.dataset_id = f.dataset_id and t.folder = '${folder}' and t.name <> all (${names}))`,
    insertFiles(folder, files, from, parameters),
  ];
}

/** The CTE that adds files. If two have the same name, the last one wins. */
export function insertFiles(
  folder: FileFolderName,
  files: readonly FileEntry[],
  from: string,
  parameters: SqlParameters,
): string {
  const sizes = new Map(files.map((file) => [storableText(file.name), file.size]));
  const names = parameters.add([...sizes.keys()], 'text[]');
  return `added_${folder}_files as (
    insert into dataset_file (dataset_id, folder, name, size)
    select f.dataset_id, '${folder}', x.name, x.size
    from ${from} f, unnest(${names}, ${parameters.add([...sizes.values()], 'bigint[]')}) x (name, size)
    on conflict (dataset_id, folder, name) do update set size = excluded.size)`;
}
