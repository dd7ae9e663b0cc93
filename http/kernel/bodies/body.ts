// Small bodies, read whole under a bound.

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { parseJson } from '../../../engine/model/json.ts';
import { decodeDocument } from '../../../engine/model/utf8.ts';
import { messageOf } from '../../../engine/runtime/failure.ts';
import { badRequest, tooLarge, unsupportedMedia } from '../pipeline/errors.ts';

/** Deeper nesting serves nothing but to overflow the stack of whoever walks it. */
const MAX_DEPTH = 64;

/** The media type of a header such as `application/json; charset=utf-8`, in lower case; empty when there is none. */
export const mediaType = (contentType: string | undefined): string =>
  (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const given = request.headers['content-type'] ?? '';
  if (!/^application\/([\w.-]+\+)?json$/.test(mediaType(given)))
    throw unsupportedMedia(`content type '${given}': application/json is needed`);
  return parseJsonText(await readBytes(request, maxBytes), 'the body');
}

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
