// `limit` and `offset` of a report (docs/contract/installer.md#limits).

import type { ReportPage } from '../../../engine/ports/dataset-reports.ts';
import type { Query } from '../../kernel/pipeline/query.ts';

const DEFAULT_LIMIT = 100;
const MAX = Number.MAX_SAFE_INTEGER;

export const reportPaging = {
  limit: {
    description: 'At most so many; -1 = no limit',
    schema: { type: 'integer', minimum: -1, maximum: MAX, default: DEFAULT_LIMIT },
  },
  offset: {
    description: 'Skips so many; ignored without a limit',
    schema: { type: 'integer', minimum: 0, maximum: MAX, default: 0 },
  },
} as const;

export interface AskedPage {
  readonly page: ReportPage;
  /** What the report says about it: -1 for no limit, and the offset that counts. */
  readonly meta: { readonly limit: number; readonly offset: number };
}

export function reportPageOf(query: Query): AskedPage {
  const limit = typeof query.limit === 'number' ? query.limit : DEFAULT_LIMIT;
  if (limit < 0) return { page: { offset: 0 }, meta: { limit, offset: 0 } };
  const offset = typeof query.offset === 'number' ? query.offset : 0;
  return { page: { limit, offset }, meta: { limit, offset } };
}
