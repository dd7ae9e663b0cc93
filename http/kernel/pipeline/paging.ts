// `limit` and `offset` of lists: the parameters and their values in a request. Pages of the access service are bounded. The
// lists of the installer are streamed, so there -1 requests all items (docs/contract/installer.md#limits).

import type { Query } from './query.ts';

/** Larger numbers would lose digits. */
const MAX = Number.MAX_SAFE_INTEGER;
/** Longest bounded page, whatever limit is requested. */
const LONGEST_PAGE = 10_000;

/** @param maximum a larger limit is refused */
export const pageParameters = (limit: number, maximum = MAX) => ({
  limit: {
    description: `At most so many, and never more than ${Math.min(maximum, LONGEST_PAGE)}`,
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum, default: limit },
  },
  offset: {
    description: 'From this one on, counted from 0',
    schema: { type: 'integer', format: 'int64', minimum: 0, maximum: MAX, default: 0 },
  },
});

export const pageOf = ({ limit, offset }: Query, fallback: number): { limit: number; offset: number } => ({
  limit: Math.min(Number(limit ?? fallback), LONGEST_PAGE),
  offset: Number(offset ?? 0),
});

/** @param limit the default; -1 = all */
export const openPageParameters = (limit: number) => ({
  limit: {
    description: 'At most so many; -1 = all',
    schema: { type: 'integer', minimum: -1, maximum: MAX, default: limit },
  },
  offset: { description: 'Skips so many', schema: { type: 'integer', minimum: 0, maximum: MAX, default: 0 } },
});

/** The page of a request. Without a limit, it is everything from the offset on. */
export function openPageOf({ limit, offset }: Query, fallback: number): { limit?: number; offset: number } {
  const most = Number(limit ?? fallback);
  return { ...(most < 0 ? {} : { limit: most }), offset: Number(offset ?? 0) };
}

/** Default limit of reports. */
const REPORT_LIMIT = 100;

export const reportPageParameters = {
  ...openPageParameters(REPORT_LIMIT),
  offset: { ...openPageParameters(REPORT_LIMIT).offset, description: 'Skips so many; ignored without a limit' },
};

/** The page of a report, and its description in the report. */
export function reportPageOf(query: Query): {
  readonly page: { limit?: number; offset: number };
  readonly meta: { readonly limit: number; readonly offset: number };
} {
  const { limit, offset } = openPageOf(query, REPORT_LIMIT);
  return limit === undefined
    ? { page: { offset: 0 }, meta: { limit: -1, offset: 0 } }
    : { page: { limit, offset }, meta: { limit, offset } };
}
