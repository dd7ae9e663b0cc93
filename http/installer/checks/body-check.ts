// A small JSON body against its schema, every fault in one 422.

import type { IncomingMessage } from 'node:http';
import type { Static, TSchema } from 'typebox';
import { readJson } from '../../kernel/bodies/body.ts';
import { Faults } from '../../kernel/input/faults.ts';
import { compileSchema } from '../../kernel/input/json-schema.ts';

/**
 * Reads the body, at most `maxBytes` of it; 400, 415 or 422 when it is not what the schema asks for. A field that is
 * null counts as absent.
 */
export type BodyCheck<Body> = (request: IncomingMessage) => Promise<Body>;

export function bodyCheck<Schema extends TSchema>(schema: Schema, maxBytes: number): BodyCheck<Static<Schema>> {
  const check = compileSchema(schema);
  return async (request) => {
    const body = withoutNulls(await readJson(request, maxBytes));
    const faults = new Faults();
    check(body, faults);
    if (!faults.empty) throw faults.refusal();
    return body as Static<Schema>;
  };
}

function withoutNulls(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}
