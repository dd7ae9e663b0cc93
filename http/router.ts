// Finds the route of a request.

import findMyWay, { type HTTPMethod } from 'find-my-way';
import { badRequest, HttpError, notFound } from './errors.ts';
import { METHODS, type Route } from './route.ts';

const LONGEST_PARAMETER = 1024;

export interface Found {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export class Router {
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #finder = findMyWay({ maxParamLength: LONGEST_PARAMETER, ignoreDuplicateSlashes: false });

  constructor(routes: readonly Route[]) {
    this.#routes = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
    for (const [name, route] of this.#routes) this.#finder.on(route.method, route.path, () => undefined, { name });
  }

  /** 404 for an unknown path, 405 with `Allow` for a known one, 400 for a path that cannot be decoded. */
  find(method: string, path: string): Found {
    const found = this.#lookup(method === 'HEAD' ? 'GET' : method, path);
    if (found) return found;
    const allowed = METHODS.filter((other) => this.#lookup(other, path));
    if (allowed.length === 0) throw notFound(`nothing is at ${path}`);
    const allow = [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
    throw new HttpError('bad-method', `${method} is not for ${path}; allowed: ${allow}`, { headers: { allow } });
  }

  /** The methods of a path, for a preflight. */
  methodsOf(path: string): readonly string[] {
    return METHODS.filter((method) => this.#lookup(method, path));
  }

  #lookup(method: string, path: string): Found | undefined {
    if (/%(?![0-9a-f]{2})/i.test(path) || /%00/.test(path)) throw badRequest('the path cannot be decoded');
    const match = this.#finder.find(method as HTTPMethod, path);
    const route = match && this.#routes.get((match.store as { name: string }).name);
    if (!match || !route) return undefined;
    return { route, params: match.params as Record<string, string> };
  }
}
