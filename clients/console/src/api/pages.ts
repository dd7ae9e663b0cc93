// Lists that the server gives in pages, with a cursor to the next one.

import { useRef, useState } from 'react';
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

interface Read<Item> {
  readonly key: string;
  readonly pages: number;
  readonly listed: Listed<Item>;
  readonly next: string | undefined;
}

/** @param key what the list depends on; another list begins with its first page */
export function usePages<Item>(
  key: string,
  page: (after: string | undefined, signal: AbortSignal) => Promise<Paged<Item>>,
): List<Item> {
  const [wanted, setWanted] = useState({ key, pages: 1 });
  const pages = wanted.key === key ? wanted.pages : 1;
  const last = useRef<Read<Item>>(undefined);
  const loaded = useLoad(`${key} ${pages}`, async (signal) => {
    const before = last.current;
    // One page more than before is only read itself. Whoever reloads the list gets all of it anew.
    const isNext = before?.key === key && before.pages === pages - 1 && before.next !== undefined;
    const items = isNext ? [...before.listed.items] : [];
    let after = isNext ? before.next : undefined;
    for (let count = isNext ? pages - 1 : 0; count < pages; count++) {
      const { results, next } = await page(after, signal);
      items.push(...results);
      after = next;
      if (after === undefined) break;
    }
    signal.throwIfAborted();
    const listed = { items, hasMore: after !== undefined };
    last.current = { key, pages, listed, next: after };
    return listed;
  });
  const kept = last.current;
  return {
    ...loaded,
    // While the next page is loaded, what was loaded stays.
    value: loaded.value ?? (kept?.key === key ? kept.listed : undefined),
    more: () => setWanted({ key, pages: pages + 1 }),
  };
}
