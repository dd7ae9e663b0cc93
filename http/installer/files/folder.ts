// The two folders of a dataset whose files its owner puts and takes away one by one: which names and sizes they take.

import { checkFileName, fileNameKey, isDesktopJunk } from '../../../engine/model/file-name.ts';
import type { FileEntry } from '../../../engine/model/metadata.ts';
import { type DatasetAddress, type FileFolder, fileKey } from '../../../engine/model/object-key.ts';
import type { DatasetEdit } from '../../../engine/ports/dataset-edits.ts';
import type { DatasetFiles } from '../../../engine/ports/dataset-queries.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { quote } from '../../kernel/input/describe.ts';
import { badRequest, type HttpError } from '../../kernel/pipeline/errors.ts';

export interface Folder {
  /** Its name in the object store. */
  readonly folder: Exclude<FileFolder, 'raw'>;
  /** Its name in the cache's listing of files, and in the change that sets it. */
  readonly listed: 'documents' | 'properties';
  readonly set: Extract<DatasetEdit, { readonly files: unknown }>['set'];
  readonly contentType: string;
  /** What messages call one of its files. */
  readonly noun: string;
}

export const DOCUMENTS: Folder = {
  folder: 'documents',
  listed: 'documents',
  set: 'documentFiles',
  contentType: 'application/octet-stream',
  noun: 'document',
};

export const PROPERTIES: Folder = {
  folder: 'datasetProperties',
  listed: 'properties',
  set: 'propertyFiles',
  contentType: 'text/tab-separated-values',
  noun: 'data property file',
};

/** Files of one folder: as many as one upload may have. */
const MAX_FILES = 1_000;

/** The name in its stored form; undefined when no file can have it. */
export function storedName(given: string): string | undefined {
  const checked = checkFileName(given, true);
  return 'name' in checked ? checked.name : undefined;
}

/** The name in its stored form; throws 400 with what is wrong with it. */
export function newName(given: string): string {
  const checked = checkFileName(given);
  if ('fault' in checked) throw badRequest(`the file name ${quote(given)} ${checked.fault}`);
  if (isDesktopJunk(checked.name))
    throw badRequest(
      `the file name ${quote(given)} is one of those that desktops and office programs add by themselves`,
    );
  return checked.name;
}

/** A file of the folder whose name differs from this one only in case. */
export const otherSpelling = (files: readonly FileEntry[], name: string): FileEntry | undefined =>
  files.find((file) => file.name !== name && fileNameKey(file.name) === fileNameKey(name));

export const spelledOtherwise = (name: string, other: FileEntry): HttpError =>
  badRequest(`the file name ${quote(name)} is taken by ${quote(other.name)} (case does not count)`);

/**
 * The number of bytes that the file may have: all documents and property files of a dataset together may be as large as one
 * upload. Throws 400 when the folder cannot take the name.
 */
export function roomFor(folder: Folder, name: string, files: DatasetFiles, maxUploadBytes: number): number {
  const inFolder = files[folder.listed];
  const other = otherSpelling(inFolder, name);
  const replaces = inFolder.some((file) => file.name === name);
  if (other && !replaces) throw spelledOtherwise(name, other);
  if (!replaces && inFolder.length >= MAX_FILES)
    throw badRequest(
      `the dataset has ${inFolder.length} files of this kind, and may have ${MAX_FILES}; delete one first`,
    );
  const others = [...files.documents, ...files.properties].reduce((sum, { size }) => sum + size, 0);
  const replaced = inFolder.find((file) => file.name === name)?.size ?? 0;
  return Math.max(0, maxUploadBytes - (others - replaced));
}

/** The folder's files in the object store, in key order. */
export async function storedFiles(
  store: Pick<ObjectStore, 'list'>,
  at: DatasetAddress,
  { folder }: Folder,
  signal: AbortSignal,
): Promise<FileEntry[]> {
  const prefix = fileKey(at, folder, '');
  const files: FileEntry[] = [];
  for await (const { key, size, etag } of store.list(prefix, {}, signal)) {
    const name = key.slice(prefix.length);
    if (!name.includes('/')) files.push({ name, size, etag });
  }
  return files;
}
