// GET /datasets/{id}/files/upload and .../install: the two archives of a dataset, as they are stored.

import { type DatasetObject, objectKey } from '../../../engine/model/object-key.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { sendObject } from '../../kernel/answers/download.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { type FileReading, findReadable, viewerOf } from '../access.ts';
import { datasetParam } from '../dataset-terms.ts';

interface DownloadsOptions extends FileReading {
  readonly store: Pick<ObjectStore, 'get' | 'head'>;
}

interface Archive {
  readonly path: 'upload' | 'install';
  readonly object: DatasetObject;
  /** The file name is the dataset's id and this. */
  readonly suffix: string;
  readonly operationId: string;
  readonly summary: string;
  readonly absent: string;
}

const ARCHIVES: readonly Archive[] = [
  {
    path: 'upload',
    object: 'import-ready.zip',
    suffix: 'upload',
    operationId: 'downloadUpload',
    summary: 'Downloads what was uploaded',
    absent: 'the upload is not processed yet',
  },
  {
    path: 'install',
    object: 'install-ready.zip',
    suffix: 'data',
    operationId: 'downloadInstall',
    summary: 'Downloads what is installed',
    absent: 'the dataset is not imported',
  },
];

export function downloadRoutes(options: DownloadsOptions): readonly Route[] {
  return ARCHIVES.map((archive) => ({
    method: 'GET',
    audit: 'download',
    path: `/datasets/:id/files/${archive.path}`,
    access: 'anyone-known',
    operationId: archive.operationId,
    summary: archive.summary,
    queryToken: true,
    params: datasetParam,
    responses: {
      200: { description: 'The archive', contentType: 'application/zip' },
      206: { description: 'The asked range of it', contentType: 'application/zip' },
      304: { description: 'It is what the caller has' },
      ...refusals({
        403: 'The caller may not read the files of this dataset, or the Admin-Token is wrong',
        404: 'No such dataset, or nothing to download yet',
        412: 'It is not the version that is asked for',
        416: 'The range is beyond the end',
      }),
    },
    handler: (context) => download(options, archive, context),
  }));
}

async function download(options: DownloadsOptions, archive: Archive, context: RequestContext): Promise<void> {
  const dataset = await findReadable(options, context.param('id'), viewerOf(context), 404, context.signal);
  await sendObject(context, options.store, {
    key: objectKey(dataset, archive.object),
    contentType: 'application/zip',
    fileName: `${dataset.dataset}-${archive.suffix}.zip`,
    absent: `dataset ${dataset.dataset} has no such file: ${archive.absent}`,
  });
}
