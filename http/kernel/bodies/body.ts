// Reads small bodies as a whole, with a size limit. JSON is checked against a schema: 400 if it is not JSON or has the wrong
// top-level type, 422 with all faults otherwise.

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Static, TSchema } from 'typebox';
import { isObject, parseJson } from '../../../engine/model/json.ts';
import { decodeDocument } from '../../../engine/model/utf8.ts';
import { messageOf } from '../../../engine/runtime/failure.ts';
import { describeValue } from '../input/describe.ts';
import { Faults } from '../input/faults.ts';
import { compileSchema } from '../input/json-schema.ts';
import { badRequest, tooLarge, unsupportedMedia } from '../pipeline/errors.ts';
import { BodyDigests } from './body-digests.ts';

/** Default size limit of a JSON body. */
const MAX_JSON_BYTES = 512 * 1024;
/** No request needs deeper nesting. It could only overflow the stack of recursive code. */
const MAX_DEPTH = 64;

/** The media type in a header such as `application/json; charset=utf-8`, in lower case; empty when there is none. */
export const mediaType = (contentType: string | undefined): string =>
  (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

export const isJsonType = (contentType: string | undefined): boolean =>
  /^application\/([\w.-]+\+)?json$/.test(mediaType(contentType));

export async function readJson(request: IncomingMessage, maxBytes = MAX_JSON_BYTES): Promise<unknown> {
  const given = request.headers['content-type'] ?? '';
  if (!isJsonType(given)) throw unsupportedMedia(`content type '${given}': expected application/json`);
  return parseJsonText(await readBytes(request, maxBytes), 'the body');
}

type JsonObject = Readonly<Record<string, unknown>>;

interface JsonBodyOptions {
  readonly maxBytes?: number;
  /** The status for JSON that is not an object; default 400. */
  readonly notAnObject?: 400 | 422;
}

/** A JSON object and its faults against the schema. The caller adds further faults and throws them. */
export interface ReadBody<Body = JsonObject> {
  /** Without null fields, which count as absent. Nested objects are treated in the same way, but not the items of lists. */
  readonly body: Partial<Body>;
  /** As it was sent, for patches in which null clears. */
  readonly given: JsonObject;
  readonly faults: Faults;
}

/** Returns a reader of JSON objects. */
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

/** Like {@link jsonBody}, for bodies that need no other checks: the reader throws the faults. */
export function checkedJsonBody<Schema extends TSchema>(
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

/** Reads a JSON list without checking its items. @param what the kind of its items, for the error message */
export async function readJsonList(request: IncomingMessage, what = ''): Promise<readonly unknown[]> {
  const read = await readJson(request);
  if (Array.isArray(read)) return read;
  throw badRequest(`the body is ${describeValue(read)}; expected a list${what === '' ? '' : ` of ${what}`}`);
}

export const withoutNulls = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([name, member]) => (member === null ? [] : [[name, withoutNulls(member)]])),
      )
    : value;

/**
 * Throws 400 for more than `maxBytes`: before reading, if Content-Length shows it. The rest of the body stays unread. Also if a
 * request does not have the digests in its headers.
 */
export async function readBytes(body: Readable | IncomingMessage, maxBytes: number): Promise<Buffer> {
  const excess = (): Error => tooLarge(`the body is larger than ${maxBytes} bytes`);
  if ('headers' in body && Number(body.headers['content-length'] ?? 0) > maxBytes) throw excess();
  const digests = 'headers' in body ? BodyDigests.of(body.headers) : undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  // Destroying a request would close its connection, so the response could not be sent.
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw excess();
    chunks.push(chunk);
    digests?.update(chunk);
  }
  digests?.demand();
  return Buffer.concat(chunks);
}

/** Parses JSON in strict UTF-8. Throws a 400 that names `what` for anything else. If a key is repeated, the last one wins. */
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
  // A quick check first: the key can only occur literally or with an escape.
  if ((text.includes('__proto__') || text.includes('\\u')) && holdsProto(value))
    throw badRequest(`${what} holds the key '__proto__', which is not accepted`);
  return value;
}

/** The deepest nesting of brackets outside of strings. Works for any text, even if it is not JSON. */
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
