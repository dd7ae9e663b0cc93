// `limit` and `offset` of a user's listing: everything unless asked for less (docs/contract/installer.md#endpoints).

import type { Query } from '../../kernel/pipeline/query.ts';

/** No database counts further than this without losing digits on the way. */
const MAX = Number.MAX_SAFE_INTEGER;

export const paging = {
  limit: {
    description: 'At most so many; -1 = all',
    schema: { type: 'integer', minimum: -1, maximum: MAX, default: -1 },
  },
  offset: { description: 'Skips so many', schema: { type: 'integer', minimum: 0, maximum: MAX, default: 0 } },
} as const;

export interface Paging {
  readonly limit?: number;
  readonly offset?: number;
}

export const pagingOf = ({ limit, offset }: Query): Paging => ({
  ...(typeof limit === 'number' && limit >= 0 ? { limit } : {}),
  ...(typeof offset === 'number' ? { offset } : {}),
});
