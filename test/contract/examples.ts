// Examples for the OpenAPI documents: of the answers of the running program to the tests of the contracts, one for each
// operation. `npm run docs:examples` writes them to http/kernel/openapi/examples.json.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Seen } from './recorder.ts';

export interface Example {
  readonly response: unknown;
  /** The JSON body of the request. */
  readonly request?: unknown;
}

const FILE = join(import.meta.dirname, '..', '..', 'http', 'kernel', 'openapi', 'examples.json');
/** The longest that is not longer tells most. */
const WANTED_BYTES = 1_200;
/** Longer ones say no more: such as the OpenAPI document itself. */
const MOST_BYTES = 4_000;
const ITEMS = 2;

export class Examples {
  readonly #byOperation = new Map<string, Example>();

  get all(): Readonly<Record<string, Example>> {
    return Object.fromEntries(this.#byOperation);
  }

  see(operation: string, { response, request }: Example): void {
    const example = { response: shown(response), ...(request === undefined ? {} : { request: shown(request) }) };
    if (JSON.stringify(example).length > MOST_BYTES) return;
    const known = this.#byOperation.get(operation);
    if (!known || merit(example) > merit(known)) this.#byOperation.set(operation, example);
  }
}

export async function writeExamples(seen: readonly Seen[]): Promise<void> {
  const byService: Record<string, Record<string, Example>> = {};
  for (const service of [...new Set(seen.map((one) => one.service))].sort()) {
    const best = new Examples();
    for (const { examples } of seen.filter((one) => one.service === service))
      for (const [operation, example] of Object.entries(examples)) best.see(operation, example);
    byService[service] = Object.fromEntries(Object.entries(best.all).sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  await writeFile(FILE, `${JSON.stringify(byService, null, 2)}\n`);
}

function merit(example: Example): number {
  const { length } = JSON.stringify(example);
  return length <= WANTED_BYTES ? length : -length;
}

/** Without what is of the machine that ran the test, without its tokens, and without long lists. */
function shown(value: unknown): unknown {
  if (typeof value === 'string')
    return value
      .replaceAll(/https?:\/\/(?:127\.0\.0\.1|localhost)(?::\d+)?/g, 'https://longshore.example.org')
      .replaceAll(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl')
      .replaceAll(/\/tmp\/[\w.-]+/g, '/var/lib/longshore');
  if (Array.isArray(value)) return value.slice(0, ITEMS).map(shown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shown(item)]));
}
