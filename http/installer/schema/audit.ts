// GET /admin/audit.

import type { Static } from 'typebox';
import { AUDIT_ACTORS, AUDIT_KINDS, AUDIT_OUTCOMES } from '../../../engine/model/audit.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { Datetime } from './dataset-terms.ts';

export const AuditItem = Type.Object({
  id: Type.String({ description: 'Place in the order of time' }),
  at: Datetime,
  kind: Type.Enum([...AUDIT_KINDS]),
  actor: Type.Object({
    kind: Type.Enum([...AUDIT_ACTORS]),
    id: Type.Optional(Type.String({ description: "A user's id, or the name of a machine's token" })),
  }),
  address: Type.String({ description: 'IP address; a /64 network where refusals from there were counted together' }),
  service: Type.String(),
  method: Type.String(),
  route: Type.String({ description: "The route's pattern" }),
  dataset: Type.Optional(Type.String()),
  records: Type.Record(Type.String(), Type.String(), { description: 'Path parameters, and what was made' }),
  outcome: Type.Enum([...AUDIT_OUTCOMES]),
  status: Type.Optional(Type.Integer({ description: 'Absent when there was no answer' })),
  count: Type.Integer({ minimum: 1, description: 'Requests alike that the row stands for' }),
  request: Type.String({ description: 'X-Request-Id of the answer, the first of those counted' }),
});
export type AuditItem = Static<typeof AuditItem>;

export const AuditReport = Type.Object({
  results: Type.Array(AuditItem, { description: 'Newest first' }),
  next: Type.Optional(Type.String({ description: '`after` of the next page; absent when nothing is left' })),
});
export type AuditReport = Static<typeof AuditReport>;
