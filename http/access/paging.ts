// Pages of lists.

import { Readable } from 'node:stream';
import type { UserId } from '../../engine/model/ids.ts';
import type { Listing, PageRequest } from '../../engine/ports/access-people.ts';
import { flattened, mapped } from '../../engine/runtime/items.ts';
import { jsonReport } from '../kernel/answers/json-report.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import type { RouteParameter } from '../kernel/pipeline/route.ts';
import { type ShownAccounts, type ShowUser, showUsers } from './people.ts';

/** No page is longer, whatever was asked for; `rows` tells. */
const LONGEST_PAGE = 10_000;

export const pageParameters = (limit: number, maximum = Number.MAX_SAFE_INTEGER): Record<string, RouteParameter> => ({
  limit: {
    description: `At most so many, and never more than ${Math.min(maximum, LONGEST_PAGE)}`,
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum, default: limit },
  },
  offset: {
    description: 'From this one on, counted from 0',
    schema: { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
  },
});

export function pageOf({ query }: RequestContext, limit: number): PageRequest {
  return { limit: Math.min(Number(query.limit ?? limit), LONGEST_PAGE), offset: Number(query.offset ?? 0) };
}

export const emptyListing = (): Listing<never> => ({ items: Readable.from([]), total: 0 });

/** Answers with a page of items that are each about a user, batch by batch. */
export function sendPage<Item extends { readonly userId: UserId }>(
  context: RequestContext,
  { items, total }: Listing<Item>,
  accounts: ShownAccounts,
  offset: number,
  show: (item: Item, user: ShowUser) => object,
): Promise<void> {
  const shown = mapped(items, async (batch) => {
    const ids = batch.map(({ userId }) => userId);
    const user = await showUsers(accounts, ids, context.signal);
    return batch.map((item) => show(item, user));
  });
  return jsonReport(context, { name: 'data', items: flattened(shown), rest: (rows) => ({ rows, offset, total }) });
}

/** The number of a row from the path; undefined when it cannot be one. */
export function rowId(context: RequestContext, name: string): number | undefined {
  const text = context.param(name);
  const id = Number(text);
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(id) ? id : undefined;
}
