// The address within the console, after the `#`: `#/datasets?status=failed`. A reload keeps it, and no server needs to know it.

import { Store, useStore } from '../api/store.ts';

export interface Route {
  /** Names the page, such as `datasets`. */
  readonly page: string;
  /** What follows it, such as the id of a dataset. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const current = new Store(parsed(location.hash));
addEventListener('hashchange', () => current.set(parsed(location.hash)));

export const useRoute = (): Route => useStore(current);

/** The address of a page, for links. Empty values of the query are left out. */
export function to(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const search = new URLSearchParams(given).toString();
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

export const go = (path: string, query?: Readonly<Record<string, string | undefined>>): void => {
  location.hash = to(path, query);
};

/** As {@link go}, without a new entry in the browser's history: for filters, and after a sign-in. */
export function replace(path: string, query?: Readonly<Record<string, string | undefined>>): void {
  history.replaceState(null, '', to(path, query));
  current.set(parsed(location.hash));
}

function parsed(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page = '', ...parts] = path.split('/').map((part) => decoded(part));
  return { page, parts, query: new URLSearchParams(search) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
