// The body of the 202 to an upload (contract 1, POST /datasets).

import { Type } from '../../schema-node.ts';
import { VdiId } from './dataset-terms.ts';

export const Accepted = Type.Object({ datasetId: VdiId });
