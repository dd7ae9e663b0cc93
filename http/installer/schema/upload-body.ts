// The multipart body of an upload (docs/contract/installer.md#multipart-parts).

import type { RouteBody } from '../../kernel/pipeline/route.ts';

const files = (description: string): object => ({
  type: 'array',
  items: { type: 'string', contentMediaType: 'application/octet-stream' },
  description,
});

/** @param details schema of the JSON part, which may also be named `meta` */
export const uploadBody = (details: object): RouteBody => ({
  description: 'Parts in any order; exactly one of dataFile (or file) and url must be there',
  content: {
    'multipart/form-data': {
      type: 'object',
      properties: {
        details,
        dataFile: files('Data files: raw ones, or one .zip, .tar.gz or .tgz; the part may also be named file'),
        url: { type: 'string', description: 'Where to fetch the one data file, http or https' },
        docFile: files('Documentation'),
        dataPropertiesFile: files('Data property files'),
      },
      required: ['details'],
    },
  },
});
