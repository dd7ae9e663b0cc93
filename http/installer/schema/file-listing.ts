// GET /datasets/{id}/files (docs/contract/installer.md#file-listing). Version 1.7.0 says `variableProperties`.

import type { Static } from 'typebox';
import { Type } from '../../kernel/openapi/schema-node.ts';

export const FileDetails = Type.Object({
  fileName: Type.String(),
  fileSize: Type.Integer({ minimum: 0, format: 'int64' }),
});
export type FileDetails = Static<typeof FileDetails>;

export const ZipDetails = Type.Object({
  /** -1 before the import: the size cannot be shown yet. */
  zipSize: Type.Integer({ minimum: -1, format: 'int64' }),
  contents: Type.Array(FileDetails),
});

const common = {
  upload: ZipDetails,
  install: Type.Optional(ZipDetails),
  documents: Type.Array(FileDetails),
};

export const FileListing = Type.Object({ ...common, datasetProperties: Type.Array(FileDetails) });
export type FileListing = Static<typeof FileListing>;

export const OldFileListing = Type.Object({ ...common, variableProperties: Type.Array(FileDetails) });
export type OldFileListing = Static<typeof OldFileListing>;

/** What is answered, whichever version is asked for. */
export const AnyFileListing = Type.Union([FileListing, OldFileListing]);
