// The list of the caller's datasets, page after page, kept up to date by events.

import { useEffect, useState } from 'react';
import { type ListingItem, type ListQuery, nextCursor } from '../../../../typescript/src/index.ts';
import { useDatasetEvents, useThrottled } from '../../api/events.ts';
import { type Loaded, useLoad } from '../../api/load.ts';
import { installer } from '../../api/session.ts';

export interface Listed {
  readonly items: readonly ListingItem[];
  readonly total: number | undefined;
  readonly hasMore: boolean;
}

const PAGE = 200;
/** The API's own. */
const LARGEST_PAGE = 1_000;

interface List extends Loaded<Listed> {
  /** Shows the next page as well. */
  more(): void;
}

export function useDatasets(query: ListQuery): List {
  const key = JSON.stringify(query);
  const [wanted, setWanted] = useState(PAGE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list begins with its first page
  useEffect(() => setWanted(PAGE), [key]);
  const [kept, setKept] = useState<{ readonly key: string; readonly listed: Listed }>();
  const loaded = useLoad(`${key} ${wanted}`, async (signal) => {
    const listed = await firstOf(query, wanted, signal);
    setKept({ key, listed });
    return listed;
  });
  const reloadSoon = useThrottled(loaded.reload);
  useDatasetEvents(reloadSoon);
  return {
    ...loaded,
    // While more of the same list is loaded, what was loaded stays.
    value: loaded.value ?? (kept?.key === key ? kept.listed : undefined),
    more: () => setWanted((count) => count + LARGEST_PAGE),
  };
}

async function firstOf(query: ListQuery, wanted: number, signal: AbortSignal): Promise<Listed> {
  const items: ListingItem[] = [];
  let cursor: string | undefined;
  let total: number | undefined;
  do {
    const limit = Math.min(wanted - items.length, LARGEST_PAGE);
    const { data, response } = await installer.GET('/datasets', {
      params: { query: { ...query, limit, ...(cursor === undefined ? { total: true } : { cursor }) } },
      signal,
    });
    items.push(...(data as readonly ListingItem[]));
    total ??= Number(response.headers.get('x-total-count') ?? undefined) || undefined;
    cursor = nextCursor(response);
  } while (cursor !== undefined && items.length < wanted);
  return { items, total, hasMore: cursor !== undefined };
}
