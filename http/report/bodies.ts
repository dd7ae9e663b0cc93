// JSON bodies of the report job service: 400 for what is no JSON or has the wrong top-level type, 422 with every fault for
// the rest. A field that is null is an absent one, but in a patch, where null clears.

import type { IncomingMessage } from 'node:http';
import type { TSchema } from 'typebox';
import type { UserMetaChange } from '../../engine/model/report/report-job.ts';
import { readJson } from '../kernel/bodies/body.ts';
import { describeValue } from '../kernel/input/describe.ts';
import { Faults } from '../kernel/input/faults.ts';
import { compileSchema } from '../kernel/input/json-schema.ts';
import { badRequest } from '../kernel/pipeline/errors.ts';

const MAX_BODY_BYTES = 512 * 1024;

export type JsonObject = Readonly<Record<string, unknown>>;

/** What was sent, and what the schema says against it; the caller adds further faults and throws them. */
export interface ReadBody {
  readonly body: JsonObject;
  readonly faults: Faults;
}

/** Reads an object by the schema; members of members that are null count as absent as well. */
export function bodyReader(schema: TSchema): (request: IncomingMessage) => Promise<ReadBody> {
  const check = compileSchema(schema);
  return async (request) => {
    const body = await readObject(request);
    const faults = new Faults();
    check(withoutNulls(body), faults);
    return { body, faults };
  };
}

async function readObject(request: IncomingMessage): Promise<JsonObject> {
  const read = await readJson(request, MAX_BODY_BYTES);
  if (isObject(read)) return read;
  throw badRequest(`the body is ${describeValue(read)}; a JSON object is needed`);
}

/** Reads a list, whatever is in it. */
export async function readList(request: IncomingMessage): Promise<readonly unknown[]> {
  const read = await readJson(request, MAX_BODY_BYTES);
  if (Array.isArray(read)) return read;
  throw badRequest(`the body is ${describeValue(read)}; a list is needed`);
}

/** Of a user's notes that were checked: nulls are no part of them. */
export const givenMeta = (value: unknown): UserMetaChange => withoutNulls(metaOf(value)) as UserMetaChange;

/** As a change, in which null clears: all of the notes, or one of them. */
export const changedMeta = (value: unknown): UserMetaChange =>
  value === null ? { summary: null, description: null } : metaOf(value);

const metaOf = (value: unknown): UserMetaChange => (isObject(value) ? value : {});

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const withoutNulls = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([name, member]) => (member === null ? [] : [[name, withoutNulls(member)]])),
      )
    : value;
