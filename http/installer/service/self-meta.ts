// GET /users/self/meta: the caller's storage quota.

import type { Static } from 'typebox';
import type { Uploads } from '../../../engine/ports/uploads.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';

export interface SelfMetaOptions {
  readonly uploads: Pick<Uploads, 'usage'>;
  /** Bytes of raw uploads that one user may keep. */
  readonly userMaxStorageBytes: number;
}

const Bytes = Type.Integer({ minimum: 0, format: 'int64' });
/** In bytes of raw uploads; what is being uploaded counts, what is deleted does not. */
export const SelfMeta = Type.Object({ quota: Type.Object({ limit: Bytes, usage: Bytes }) });
export type SelfMeta = Static<typeof SelfMeta>;

export function selfMetaRoute({ uploads, userMaxStorageBytes }: SelfMetaOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/users/self/meta',
    access: 'user',
    operationId: 'getSelfMeta',
    summary: 'How much the caller stores, and may store',
    responses: { 200: answer('Quota in bytes', SelfMeta), ...refusals({ 403: 'Guests store nothing' }) },
    handler: async (context) => {
      const usage = await uploads.usage(context.userId, context.signal);
      const meta: SelfMeta = { quota: { limit: userMaxStorageBytes, usage } };
      await context.json(200, meta);
    },
  };
}
