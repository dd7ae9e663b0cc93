// Parameters of the routes for one file of a dataset.

import { Type } from '../../kernel/openapi/schema-node.ts';
import type { RouteParameter } from '../../kernel/pipeline/route.ts';

export const fileNameParam: Readonly<Record<'fileName', RouteParameter>> = {
  fileName: {
    description: 'Name of the file: a label without / and \\, at most 255 bytes',
    schema: { ...Type.String({ minLength: 1, maxLength: 255 }) },
  },
};

export const downloadParam: Readonly<Record<'download', RouteParameter>> = {
  download: {
    description: 'False lets a browser show it instead of saving it',
    schema: { ...Type.Boolean({ default: true }) },
  },
};
