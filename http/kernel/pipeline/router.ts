// Finds the route of a request.

import findMyWay, { type HTTPMethod } from 'find-my-way';
import { badRequest, HttpError, notFound } from './errors.ts';
import { METHODS, type Route } from './route.ts';

/** Long enough for a file name of 255 bytes, all of them percent-encoded. */
const LONGEST_PARAMETER = 1024;
const SHOWN_PATH = 200;

export interface Found {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export class Router {
  readonly #finder = findMyWay({ maxParamLength: LONGEST_PARAMETER, ignoreDuplicateSlashes: false });
  readonly #basePath: string;

  /** @param basePath prefix that a proxy in front may leave on the path; empty = none */
  constructor(routes: readonly Route[], basePath = '') {
    this.#basePath = basePath;
    for (const route of routes) this.#finder.on(route.method, route.path, () => undefined, { route });
  }

  /** Throws 404 for an unknown path, 405 with `Allow` for another method, and 400 for a path that cannot be decoded. */
  find(method: string, path: string): Found {
    const found = this.#lookup(method === 'HEAD' ? 'GET' : method, path);
    if (found) return found;
    if (!isDecodable(path))
      throw badRequest('the path cannot be decoded: it must be percent-encoded UTF-8 without NUL');
    const allow = this.methodsOf(path).join(', ');
    const shown = path.length > SHOWN_PATH ? `${path.slice(0, SHOWN_PATH)}...` : path;
    if (allow === '') throw notFound(`nothing is at ${shown}`);
    throw new HttpError('bad-method', `${method} is not for ${shown}; allowed: ${allow}`, { headers: { allow } });
  }

  /** The methods of a path; empty = the path is unknown. */
  methodsOf(path: string): readonly string[] {
    const methods = METHODS.filter((method) => this.#lookup(method, path));
    if (methods.length === 0) return [];
    return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
  }

  #lookup(method: string, path: string): Found | undefined {
    const found = this.#match(method, path);
    if (found || this.#basePath === '' || !path.startsWith(`${this.#basePath}/`)) return found;
    return this.#match(method, path.slice(this.#basePath.length));
  }

  #match(method: string, path: string): Found | undefined {
    // Stricter than find-my-way, which also accepts an absolute URL, a fragment, and a NUL in a parameter.
    const isEncoded = path.includes('%');
    if (!path.startsWith('/') || path.includes('#') || (isEncoded && !isDecodable(path))) return undefined;
    const match = this.#finder.find(method as HTTPMethod, path);
    if (!match) return undefined;
    const { route } = match.store as { readonly route: Route };
    if (isEncoded && !isSpelledAs(route.path, path)) return undefined;
    return { route, params: match.params as Record<string, string> };
  }
}

/** A route has one spelling: if a proxy blocks `/admin`, a client must not bypass it with `/%61dmin`. */
function isSpelledAs(pattern: string, path: string): boolean {
  const segments = path.split('/');
  return pattern.split('/').every((segment, i) => segment.startsWith(':') || segment === segments[i]);
}

function isDecodable(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
}
