// The body of every error answer (docs/contract/installer.md#errors).

import { Type } from '../openapi/schema-node.ts';
import { ERROR_CODES, type ErrorWord } from './errors.ts';

const words = Object.keys(ERROR_CODES) as ErrorWord[];

export const Problem = Type.Object({
  status: Type.Enum(words),
  message: Type.String(),
  requestId: Type.Optional(Type.String({ description: 'With status server-error' })),
  dependency: Type.Optional(Type.String({ description: 'With status failed-dependency' })),
  errors: Type.Optional(
    Type.Object(
      {
        general: Type.Array(Type.String()),
        byKey: Type.Record(Type.String(), Type.Array(Type.String())),
      },
      { description: 'With status invalid-input; keys are paths like contacts[0].email' },
    ),
  ),
});
