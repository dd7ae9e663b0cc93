// The request header of a conditional change.

import type { RouteParameter } from '../../route.ts';
import { Type } from '../../schema-node.ts';

export const ifMatch: Readonly<Record<'If-Match', RouteParameter>> = {
  'If-Match': {
    description: 'The ETag that the details of the dataset came with; 412 when its metadata have changed since',
    schema: { ...Type.String() },
  },
};
