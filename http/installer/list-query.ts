// What the query of a list of datasets asks for beyond `limit` and `offset` (paging.ts): filters, search, order, pages by cursor and
// the total. Without them a list is what it always was: complete, newest first.

import type { UserId } from '../../engine/model/ids.ts';
import {
  LIST_SORTS,
  LISTED_STATUSES,
  type ListOrder,
  type ListPlace,
  type ListSelection,
  type ListSort,
} from '../../engine/ports/dataset-queries.ts';
import { quote } from '../kernel/input/describe.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { badRequest, type HttpError } from '../kernel/pipeline/errors.ts';
import type { Query } from '../kernel/pipeline/query.ts';
import type { RouteParameter } from '../kernel/pipeline/route.ts';
import { askedMoment, momentParameter } from './admin/admin-route.ts';
import { cursorOf, placeOf } from './list-cursor.ts';
import { searchOf } from './list-search.ts';

/** The largest page that has a `Link` to the next one. Its ids are in memory at once. */
const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 100;
const SORTS = Object.keys(LIST_SORTS) as readonly ListSort[];

const text = (description: string, maxLength: number): RouteParameter => ({
  description,
  schema: { type: 'string', minLength: 1, maxLength },
});

export const listFilters = {
  name: text('Only datasets whose name contains this, in any case', 200),
  type: {
    description: 'Only datasets of this type: `NAME@VERSION`, or `NAME` for all versions',
    schema: { type: 'string', maxLength: 200, pattern: '^([^@]+|.+@.+)$' },
  },
  status: {
    description:
      'Only datasets that are so far. `failed`: upload, import or an install; `installed`: data and metadata, on each target',
    schema: { enum: [...LISTED_STATUSES] },
  },
  updatedSince: momentParameter(
    'Only datasets whose details, upload, import or installs have changed since: the beginning of 2026-01-02T03:04:05, from its date on, in UTC',
  ),
} satisfies Readonly<Record<string, RouteParameter>>;

export const listParameters = {
  ...listFilters,
  q: text(
    'Only datasets with these words in their details. `"a phrase"`, `or`, `-` before what must not occur, `*` after the beginning of a word',
    300,
  ),
  sort: { description: 'Default: relevance with `q`, otherwise created', schema: { enum: SORTS } },
  order: { description: 'Default: asc for names, otherwise desc', schema: { enum: ['asc', 'desc'] } },
  cursor: text('Where the page begins: given by the `Link` of the page before', 4_000),
  total: {
    description: 'Say in `X-Total-Count` how many datasets all pages have',
    schema: { type: 'boolean', default: false },
  },
} satisfies Readonly<Record<string, RouteParameter>>;

interface AskedList {
  readonly selection: ListSelection;
  readonly order: ListOrder;
  /** Undefined = the list is streamed to its end, as `limit` and `offset` say. */
  readonly page: { readonly limit: number; readonly after?: ListPlace } | undefined;
  readonly isCounted: boolean;
  /** The `Link` header of a page. */
  linkTo(next: ListPlace): string;
}

/** @param path of the route */
export function askedList(
  context: Pick<RequestContext, 'query' | 'caller' | 'publicUrl'>,
  path: string,
  who: Pick<ListSelection, 'ownership' | 'target'> & { readonly viewer: UserId },
): AskedList {
  const { query, caller, publicUrl } = context;
  const selection: ListSelection = {
    ...{ ...who, isGuest: caller.kind === 'guest' },
    ...askedFilters(query),
    ...(query.q === undefined ? {} : { search: searchOf(String(query.q), (sentence) => fault('q', query, sentence)) }),
  };
  const order = askedOrder(query);
  const list = JSON.stringify([path, selection, order]);
  const limit = askedLimit(query);
  return {
    ...{ selection, order, isCounted: query.total === true },
    page: limit === undefined ? undefined : { limit, ...askedPlace(query, list, order) },
    linkTo(next) {
      const { cursor: _before, total: _counted, ...rest } = query;
      const search = new URLSearchParams(Object.entries(rest).map(([name, value]) => [name, String(value)]));
      if (limit !== undefined) search.set('limit', String(limit));
      search.set('cursor', cursorOf(next, list));
      return `<${publicUrl}${path}?${search}>; rel="next"`;
    },
  };
}

export function askedFilters(query: Query): Pick<ListSelection, 'name' | 'type' | 'status' | 'updatedSince'> {
  const updatedSince = askedMoment('updatedSince', query.updatedSince);
  const status = LISTED_STATUSES.find((one) => one === query.status);
  return {
    ...(query.name === undefined ? {} : { name: String(query.name) }),
    ...(query.type === undefined ? {} : { type: typeOf(String(query.type)) }),
    ...(status ? { status } : {}),
    ...(updatedSince ? { updatedSince } : {}),
  };
}

/** Names of types are stored in lower case. */
function typeOf(asked: string): NonNullable<ListSelection['type']> {
  const at = asked.lastIndexOf('@');
  if (at < 0) return { name: asked.toLowerCase() };
  return { name: asked.slice(0, at).toLowerCase(), version: asked.slice(at + 1) };
}

function askedOrder(query: Query): ListOrder {
  const sort = SORTS.find((one) => one === query.sort) ?? (query.q === undefined ? 'created' : 'relevance');
  if (sort === 'relevance' && query.q === undefined)
    throw fault(
      'sort',
      query,
      `needs a search: expected 'q', or one of ${SORTS.filter((one) => one !== sort).join(', ')}`,
    );
  return { sort, descending: query.order === undefined ? sort !== 'name' : query.order === 'desc' };
}

const PAGED = ['q', 'sort', 'order', 'cursor'] as const;

/** Undefined for a list that is streamed to its end. */
function askedLimit(query: Query): number | undefined {
  const paged = PAGED.find((name) => query[name] !== undefined);
  const limit = typeof query.limit === 'number' ? query.limit : undefined;
  const isPage = limit !== undefined && limit >= 1 && limit <= MAX_PAGE;
  if (paged === undefined) return isPage && (query.offset ?? 0) === 0 ? limit : undefined;
  if (query.offset !== undefined)
    throw fault('offset', query, `is not for a list with '${paged}': follow the Link to the next page`);
  if (limit !== undefined && !isPage) throw fault('limit', query, `with '${paged}', expected 1 to ${MAX_PAGE}`);
  return limit ?? DEFAULT_PAGE;
}

function askedPlace({ cursor, ...query }: Query, list: string, { sort }: ListOrder): { readonly after?: ListPlace } {
  if (cursor === undefined) return {};
  const after = placeOf(String(cursor), list, sort);
  if (after) return { after };
  throw fault(
    'cursor',
    { ...query, cursor },
    'expected that of the Link of a page of this list, with the same filters and order',
  );
}

const fault = (name: string, query: Query, sentence: string): HttpError =>
  badRequest(`query parameter '${name}' is ${quote(String(query[name]))}: ${sentence}`);
