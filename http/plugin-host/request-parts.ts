// Reads the parts of a plugin call's multipart body: documents into memory, up to a limit, and files directly into the
// workspace.

import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { checkFileName, fileNameKey, visible } from '../../engine/model/file-name.ts';
import { decodeDocument } from '../../engine/model/utf8.ts';
import { readBytes } from '../kernel/bodies/body.ts';
import { type MultipartPart, readMultipart } from '../kernel/bodies/multipart.ts';
import { badRequest, HttpError } from '../kernel/pipeline/errors.ts';

/** Maximum size of a document, such as the metadata. */
export const DOCUMENT_BYTES = 1024 * 1024;
const PARTS = 1_000;

interface PartsWanted<Name extends string> {
  /** Names of the JSON parts. Each must come exactly once. */
  readonly documents: readonly Name[];
  /** True for import, which accepts no document as a file part and no unknown file. Other calls accept both. */
  readonly strict: boolean;
  /** Called with each document as soon as it has been read, before the parts that follow. */
  readonly onDocument?: (name: Name, text: string) => Promise<void>;
  /** Path for `payload`, which must come exactly once. */
  readonly payloadFile?: string;
  readonly maxPayloadBytes: number;
  /** Folder for `dataProperties`, each under its file name. Absent: they are skipped. */
  readonly propertiesDir?: string;
}

/** Returns the texts of the documents by name. */
export async function readParts<const Name extends string>(
  request: IncomingMessage,
  wanted: PartsWanted<Name>,
  signal: AbortSignal,
): Promise<Record<Name, string>> {
  const documents = new Map<string, string>();
  const properties = new Set<string>();
  let payload = false;
  const onPart = async (part: MultipartPart): Promise<void> => {
    const { name } = part;
    if ((wanted.documents as readonly string[]).includes(name)) {
      if (documents.has(name)) throw badRequest(`part '${name}' comes twice`);
      if (wanted.strict && part.fileName !== undefined) throw badRequest(`part '${name}' must be a field, not a file`);
      const text = decodeDocument(await readBytes(part.body, DOCUMENT_BYTES));
      if (text === undefined) throw badRequest(`part '${name}' is not UTF-8`);
      documents.set(name, text);
      await wanted.onDocument?.(name as Name, text);
    } else if (name === 'payload' && wanted.payloadFile !== undefined) {
      if (payload) throw badRequest("part 'payload' comes twice");
      if (wanted.strict && part.fileName === undefined) throw badRequest("part 'payload' must be a file");
      payload = true;
      await saveFile(part.body, wanted.payloadFile, wanted.maxPayloadBytes, name, signal);
    } else if (name === 'dataProperties' && wanted.propertiesDir !== undefined) {
      const fileName = propertiesName(part, properties);
      await saveFile(part.body, join(wanted.propertiesDir, fileName), wanted.maxPayloadBytes, name, signal);
    } else if (wanted.strict && part.fileName !== undefined) throw badRequest(`part '${name}' is not known`);
  };
  // A client that has already disconnected would send neither data nor an end.
  signal.throwIfAborted();
  await readMultipart(request, { parts: PARTS, fieldBytes: DOCUMENT_BYTES }, onPart, signal);
  const missing = wanted.documents.find((name) => !documents.has(name));
  if (missing !== undefined) throw badRequest(`part '${missing}' is missing`);
  if (wanted.payloadFile !== undefined && !payload) throw badRequest("part 'payload' is missing");
  return Object.fromEntries(documents) as Record<Name, string>;
}

function propertiesName(part: MultipartPart, taken: Set<string>): string {
  const check = checkFileName(part.fileName ?? '');
  if ('fault' in check)
    throw badRequest(`the file name '${visible(part.fileName ?? '')}' of part '${part.name}' ${check.fault}`);
  const key = fileNameKey(check.name);
  if (taken.has(key)) throw badRequest(`part '${part.name}': two files are named '${check.name}'`);
  taken.add(key);
  return check.name;
}

async function saveFile(
  body: Readable,
  file: string,
  maxBytes: number,
  part: string,
  signal: AbortSignal,
): Promise<void> {
  let bytes = 0;
  async function* limited(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw partTooLarge(part, maxBytes);
      yield chunk;
    }
  }
  await pipeline(body, limited, createWriteStream(file, { flags: 'wx' }), { signal });
}

/** 413, because the plugin wire protocol has its own codes. */
const partTooLarge = (part: string, maxBytes: number): HttpError =>
  new HttpError('bad-request', `part '${part}' is larger than ${maxBytes} bytes`, { code: 413 });
