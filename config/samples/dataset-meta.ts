// The row that every sample keeps about an installed dataset's metadata.

import { readdir } from 'node:fs/promises';
import { parseMetadata } from '../../engine/model/metadata.ts';
import { type RowTable, removeRows, replaceRows } from './dataset-rows.ts';
import type { SampleIo } from './sample.ts';
import { ownText } from './text-lines.ts';

const TABLE: RowTable = {
  name: 'dataset_meta',
  columns: [
    { name: 'type_name', type: 'text' },
    { name: 'type_version', type: 'text' },
    { name: 'name', type: 'text' },
    { name: 'visibility', type: 'text' },
    /** Names of the data properties files, as a JSON list. */
    { name: 'properties', type: 'jsonb' },
  ],
  key: [],
};

export async function installMetaRow(
  dataset: string,
  metaFile: string,
  propertiesDir: string,
  io: SampleIo,
): Promise<void> {
  const { type, name, visibility } = parseMetadata(await ownText(metaFile), metaFile);
  const properties = (await readdir(propertiesDir)).sort();
  await replaceRows(
    await io.database(),
    TABLE,
    dataset,
    [[type.name, type.version, name, visibility, JSON.stringify(properties)]],
    io.signal,
  );
}

export async function removeMetaRow(dataset: string, io: SampleIo): Promise<void> {
  await removeRows(await io.database(), TABLE, dataset, io.signal);
}
