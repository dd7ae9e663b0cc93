// User ids in responses: JSON integers on the wire, and decimal strings in the program (engine/model/json.ts).

import type { UserId } from '../../../engine/model/ids.ts';
import { Type } from './schema-node.ts';

export const UserIdOutput = Type.Unsafe<UserId>({ type: 'integer', format: 'int64', minimum: 1 });
