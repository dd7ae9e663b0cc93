// Small bodies, read whole under a bound.

import type { IncomingMessage } from 'node:http';
import { messageOf } from '../engine/failure.ts';
import { parseJson } from '../engine/model/json.ts';
import { badRequest, tooLarge, unsupportedMedia } from './errors.ts';

export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\b/i.test(type)) throw unsupportedMedia(`content type '${type}': application/json is needed`);
  return parseJsonText(await readBytes(request, maxBytes), 'the body');
}

export async function readBytes(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(`the body is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** JSON of strict UTF-8; anything else is 400 and names `what`. Of duplicate keys the last counts. */
export function parseJsonText(bytes: Uint8Array, what: string): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest(`${what} is not UTF-8`);
  }
  try {
    return parseJson(text);
  } catch (error) {
    throw badRequest(`${what} is not JSON: ${messageOf(error)}`);
  }
}
