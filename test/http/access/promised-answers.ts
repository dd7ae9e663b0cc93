// Whether the answers of an application are those that its routes document.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { documented } from '../../../http/kernel/openapi/keyed-route.ts';
import type { Route } from '../../../http/kernel/pipeline/route.ts';
import { closed } from '../installer/response-check.ts';

export class PromisedAnswers {
  readonly #routes: readonly (readonly [path: RegExp, route: Route])[];
  readonly #checks = new Map<object, ValidateFunction>();

  constructor(routes: readonly Route[]) {
    this.#routes = routes
      .map(documented)
      .map((route) => [new RegExp(`^${route.path.replaceAll(/:\w+/g, '[^/]+')}$`), route]);
  }

  /** Throws when the code is not documented, or the body is not what is documented for it. */
  demand(method: string, path: string, status: number, body: unknown): void {
    const [at = ''] = path.split('?');
    const route = this.#routes.find(([pattern, one]) => one.method === method && pattern.test(at))?.[1];
    if (!route) return;
    const response = route.responses[status];
    if (!response) throw new Error(`${method} ${path}: ${status} is not documented`);
    if (!response.schema || body === undefined) return;
    const check = this.#compiled(response.schema);
    if (check(body)) return;
    const faults = (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
    throw new Error(`${method} ${path}: ${faults.join('; ')}`);
  }

  #compiled(schema: object): ValidateFunction {
    const known = this.#checks.get(schema);
    if (known) return known;
    const ajv = new Ajv2020({ allErrors: true, strict: false });
    // The package's default export is typed as a namespace under nodenext.
    (formats as unknown as (ajv: Ajv2020) => void)(ajv);
    const check = ajv.compile(closed(schema) as object);
    this.#checks.set(schema, check);
    return check;
  }
}
