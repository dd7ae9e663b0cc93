// The `{vdi-id}` of a path.

import type { RouteParameter } from '../../kernel/pipeline/route.ts';
import { VdiId } from './dataset-terms.ts';

export const datasetParam: Readonly<Record<'id', RouteParameter>> = {
  id: { description: 'The dataset', schema: { ...VdiId } },
};
