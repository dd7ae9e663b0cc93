// Small bodies, read whole under a bound. JSON that has a schema: 400 for what is no JSON or has the wrong top-level type, 422 with
// every fault for the rest.

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Static, TSchema } from 'typebox';
import { parseJson } from '../../../engine/model/json.ts';
import { decodeDocument } from '../../../engine/model/utf8.ts';
import { messageOf } from '../../../engine/runtime/failure.ts';
import { describeValue } from '../input/describe.ts';
import { Faults } from '../input/faults.ts';
import { compileSchema } from '../input/json-schema.ts';
import { badRequest, tooLarge, unsupportedMedia } from '../pipeline/errors.ts';

/** Of a JSON body, unless its reader says otherwise. */
const MAX_JSON_BYTES = 512 * 1024;
/** Deeper nesting serves nothing but to overflow the stack of whoever walks it. */
const MAX_DEPTH = 64;

/** The media type of a header such as `application/json; charset=utf-8`, in lower case; empty when there is none. */
export const mediaType = (contentType: string | undefined): string =>
  (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

export const isJsonType = (contentType: string | undefined): boolean =>
  /^application\/([\w.-]+\+)?json$/.test(mediaType(contentType));

export async function readJson(request: IncomingMessage, maxBytes = MAX_JSON_BYTES): Promise<unknown> {
  const given = request.headers['content-type'] ?? '';
  if (!isJsonType(given)) throw unsupportedMedia(`content type '${given}': expected application/json`);
  return parseJsonText(await readBytes(request, maxBytes), 'the body');
}

export type JsonObject = Readonly<Record<string, unknown>>;

export interface JsonBodyOptions {
  readonly maxBytes?: number;
  /** The status for JSON that is no object; default 400. */
  readonly notAnObject?: 400 | 422;
}

/** An object that was sent, and what its schema says against it. The caller adds further faults and throws them. */
export interface ReadBody<Body = JsonObject> {
  /** Without fields that are null: they count as absent, also in objects within. */
  readonly body: Partial<Body>;
  /** As it was sent, for patches in which null clears. */
  readonly given: JsonObject;
  readonly faults: Faults;
}

/** Makes a reader of objects. */
export function jsonBody<Schema extends TSchema>(
  schema: Schema,
  { maxBytes, notAnObject = 400 }: JsonBodyOptions = {},
): (request: IncomingMessage) => Promise<ReadBody<Static<Schema>>> {
  const check = compileSchema(schema);
  return async (request) => {
    const read = await readJson(request, maxBytes);
    if (!isObject(read) && notAnObject === 400)
      throw badRequest(`the body is ${describeValue(read)}; expected a JSON object`);
    const body = withoutNulls(read);
    const faults = new Faults();
    check(body, faults);
    return { body: body as Partial<Static<Schema>>, given: isObject(read) ? read : {}, faults };
  };
}

/** Like {@link jsonBody}, for bodies of which the schema says everything: faults are thrown. */
export function soundJsonBody<Schema extends TSchema>(
  schema: Schema,
  options: JsonBodyOptions = {},
): (request: IncomingMessage) => Promise<Static<Schema>> {
  const read = jsonBody(schema, options);
  return async (request) => {
    const { body, faults } = await read(request);
    faults.throwIfAny();
    return body as Static<Schema>;
  };
}

/** Reads a list, whatever is in it. @param what it holds, for the refusal */
export async function readJsonList(request: IncomingMessage, what = ''): Promise<readonly unknown[]> {
  const read = await readJson(request);
  if (Array.isArray(read)) return read;
  throw badRequest(`the body is ${describeValue(read)}; expected a list${what === '' ? '' : ` of ${what}`}`);
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const withoutNulls = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([name, member]) => (member === null ? [] : [[name, withoutNulls(member)]])),
      )
    : value;

/** 400 for more than `maxBytes`, before anything is read when the client says so. The rest stays unread. */
export async function readBytes(body: Readable | IncomingMessage, maxBytes: number): Promise<Buffer> {
  const excess = (): Error => tooLarge(`the body is larger than ${maxBytes} bytes`);
  if ('headers' in body && Number(body.headers['content-length'] ?? 0) > maxBytes) throw excess();
  const chunks: Buffer[] = [];
  let size = 0;
  // Destroying a request would close its connection, and with it the way for the answer.
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw excess();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** JSON of strict UTF-8; anything else is 400 and names `what`. Of duplicate keys the last counts. */
export function parseJsonText(bytes: Uint8Array, what: string): unknown {
  const text = decodeDocument(bytes);
  if (text === undefined) throw badRequest(`${what} is not UTF-8`);
  if (depthOf(text) > MAX_DEPTH) throw badRequest(`${what} is nested deeper than ${MAX_DEPTH} levels`);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw badRequest(`${what} is not JSON: ${messageOf(error)}`);
  }
  // Only a text that spells the key, or hides it behind escapes, is worth the walk.
  if ((text.includes('__proto__') || text.includes('\\u')) && holdsProto(value))
    throw badRequest(`${what} holds the key '__proto__', which is not accepted`);
  return value;
}

/** Nesting of brackets outside of strings; enough for text that may not be JSON at all. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return deepest;
}

function holdsProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsProto);
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(holdsProto);
}
