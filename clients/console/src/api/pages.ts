// Lists that the server gives in pages, with a cursor to the next one.

import { useEffect, useState } from 'react';
import { type Loaded, useLoad } from './load.ts';

export interface Paged<Item> {
  readonly results: readonly Item[];
  readonly next?: string | undefined;
}

interface Listed<Item> {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
}

interface List<Item> extends Loaded<Listed<Item>> {
  /** Shows the next page as well. */
  more(): void;
}

/** @param key what the list depends on; another list begins with its first page */
export function usePages<Item>(
  key: string,
  page: (after: string | undefined, signal: AbortSignal) => Promise<Paged<Item>>,
): List<Item> {
  const [wanted, setWanted] = useState({ key, pages: 1 });
  const pages = wanted.key === key ? wanted.pages : 1;
  const [kept, setKept] = useState<{ readonly key: string; readonly listed: Listed<Item> }>();
  const loaded = useLoad(`${key} ${pages}`, async (signal) => {
    const items: Item[] = [];
    let after: string | undefined;
    for (let count = 0; count < pages; count++) {
      const { results, next } = await page(after, signal);
      items.push(...results);
      after = next;
      if (after === undefined) break;
    }
    return { items, hasMore: after !== undefined };
  });
  const { value } = loaded;
  useEffect(() => {
    if (value) setKept({ key, listed: value });
  }, [key, value]);
  return {
    ...loaded,
    // While the next page is loaded, what was loaded stays.
    value: value ?? (kept?.key === key ? kept.listed : undefined),
    more: () => setWanted({ key, pages: pages + 1 }),
  };
}
