// Multipart bodies, part by part and strictly one after the other. A part's body is a stream; what a handler leaves of it
// is skipped. Nothing is held but the buffers of one part.

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { Busboy, type BusboyConfig, type BusboyEvents, type BusboyInstance } from '@fastify/busboy';
import { badRequest, unsupportedMedia } from './errors.ts';

export interface MultipartPart {
  readonly name: string;
  /** As the client sent it, separators included: a label, never a path. Undefined when the part is no file. */
  readonly fileName: string | undefined;
  /** Empty when the part did not say. */
  readonly contentType: string;
  readonly body: Readable;
}

export interface MultipartLimits {
  readonly parts: number;
  /** Bytes of a part that is no file. */
  readonly fieldBytes: number;
}

export const MULTIPART_LIMITS: MultipartLimits = { parts: 1_000, fieldBytes: 1024 * 1024 };

const NAME_BYTES = 128;
const HEADER_BYTES = 16 * 1024;

/**
 * Resolves when the whole body was read and every part handled. A body that is no multipart, is cut off or breaks a
 * limit is 400; a failing handler ends the reading, and the rest of the body is the server's to discard.
 */
export async function readMultipart(
  request: IncomingMessage,
  limits: MultipartLimits,
  onPart: (part: MultipartPart) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\b/i.test(contentType))
    throw unsupportedMedia(`content type '${contentType}': multipart/form-data is needed`);
  const parser = openParser(contentType, limits);
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  const open = new Set<Readable>();
  let turn: Promise<void> = Promise.resolve();
  let failed = false;
  const fail = (error: unknown): void => {
    failed = true;
    failure.reject(error);
  };
  const handle = (part: MultipartPart): void => {
    // A later part may arrive while the one before is still being handled; its stream then waits, and with it the body.
    open.add(part.body);
    part.body.on('error', () => undefined).once('close', () => open.delete(part.body));
    turn = turn.then(async () => {
      if (!failed) await onPart(part).catch(fail);
      part.body.resume();
    });
  };
  const onFile: BusboyEvents['file'] = (name, body, fileName, _encoding, type) =>
    handle({ name: String(name), fileName, contentType: type, body });
  parser.on('file', onFile);
  const onField: BusboyEvents['field'] = (name, value, nameCut, valueCut, _encoding, type) => {
    if (nameCut) fail(badRequest(`a part's name is longer than ${NAME_BYTES} bytes`));
    else if (valueCut) fail(badRequest(`part '${name}' is longer than ${limits.fieldBytes} bytes`));
    else handle({ name, fileName: undefined, contentType: type ?? '', body: Readable.from([Buffer.from(value)]) });
  };
  parser.on('field', onField);
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
    parser.on(event, () => fail(badRequest(`the body has more than ${limits.parts} parts`)));
  const read = new Promise<void>((resolve, reject) => {
    parser.once('finish', resolve);
    parser.once('error', (error: Error) => reject(badRequest(`the multipart body is malformed: ${error.message}`)));
    request.once('error', (error) => reject(badRequest(`the body ended before its time: ${error.message}`)));
    request.once('close', () => {
      if (!request.complete) reject(badRequest('the body ended before its time'));
    });
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  try {
    request.pipe(parser);
    await Promise.race([read, failure.promise]);
    await Promise.race([turn, failure.promise]);
  } catch (error) {
    request.unpipe(parser);
    parser.destroy(error instanceof Error ? error : undefined);
    parser.on('error', () => undefined);
    read.catch(() => undefined);
    // The part under way ends with the reason; wait until its handler noticed.
    failed = true;
    for (const body of open) body.destroy(error instanceof Error ? error : undefined);
    await turn;
    throw error;
  }
}

function openParser(contentType: string, limits: MultipartLimits): BusboyInstance {
  const config: BusboyConfig = {
    headers: { 'content-type': contentType },
    // Separators must be seen to be refused, not cut away.
    preservePath: true,
    fileHwm: 256 * 1024,
    limits: {
      parts: limits.parts,
      fields: limits.parts,
      files: limits.parts,
      fieldSize: limits.fieldBytes,
      fieldNameSize: NAME_BYTES,
      headerPairs: 32,
      headerSize: HEADER_BYTES,
    },
  };
  try {
    return new Busboy(config);
  } catch (error) {
    throw badRequest(`the multipart body cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
