// The body of the 202 to an upload (docs/contract/installer.md#endpoints).

import { Type } from '../../kernel/openapi/schema-node.ts';
import { VdiId } from './dataset-terms.ts';

export const Accepted = Type.Object({ datasetId: VdiId });
