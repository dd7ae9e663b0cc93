// The request header of a conditional change.

import { Type } from '../../kernel/openapi/schema-node.ts';
import type { RouteParameter } from '../../kernel/pipeline/route.ts';

export const ifMatch: Readonly<Record<'If-Match', RouteParameter>> = {
  'If-Match': {
    description: 'The ETag that the details of the dataset came with; 412 when its metadata have changed since',
    schema: { ...Type.String() },
  },
};
