// A dataset's files as responses show them.

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import type { FileEntry } from '../../../engine/model/metadata.ts';
import type { ImportStatus } from '../../../engine/model/status.ts';
import type { DatasetFiles } from '../../../engine/ports/dataset-queries.ts';
import type { FileDetails, FileListing, OldFileListing } from '../schema/file-listing.ts';

export interface ZipSizes {
  /** Bytes of import-ready.zip and install-ready.zip; undefined when there is none. */
  readonly upload: number | undefined;
  readonly install: number | undefined;
}

/** The size of the upload is -1 until its import has happened; `install` appears with a complete import. */
export function fileListing(
  files: DatasetFiles,
  imported: ImportStatus | undefined,
  zips: ZipSizes,
  version: ApiVersion,
): FileListing | OldFileListing {
  const waiting = imported === undefined || imported === 'queued' || imported === 'in-progress';
  const upload = { zipSize: waiting ? -1 : (zips.upload ?? -1), contents: files.upload.map(fileView) };
  const install = { zipSize: zips.install ?? -1, contents: files.install.map(fileView) };
  const properties = files.properties.map(fileView);
  return {
    upload,
    ...(imported === 'complete' ? { install } : {}),
    documents: files.documents.map(fileView),
    ...(version === '1.7.0' ? { variableProperties: properties } : { datasetProperties: properties }),
  } as FileListing | OldFileListing;
}

function fileView(file: FileEntry): FileDetails {
  return { fileName: file.name, fileSize: file.size };
}
