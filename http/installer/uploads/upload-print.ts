// The fingerprint of an upload (http/kernel/pipeline/fingerprint.ts): of each part its name, file name and bytes, hashed as they
// pass. Nothing is held but the details.

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { isJsonType, readJson } from '../../kernel/bodies/body.ts';
import { MULTIPART_LIMITS, type MultipartPart, readMultipart } from '../../kernel/bodies/multipart.ts';
import { tooLarge } from '../../kernel/pipeline/errors.ts';
import type { Fingerprint } from '../../kernel/pipeline/fingerprint.ts';
import { isDetails, MAX_DETAILS_BYTES, MAX_JSON_BYTES } from './upload-form.ts';

/** Hands the part over to `take`. What that does not read counts as well. */
export async function takePrinted(
  part: MultipartPart,
  print: Fingerprint,
  take: (part: MultipartPart) => Promise<void>,
): Promise<void> {
  const { name, fileName } = part;
  const label = JSON.stringify([name, fileName ?? null]);
  const body = print.bytes(label, part.body, isDetails(part) ? MAX_DETAILS_BYTES : 0);
  await take({ ...part, body });
  if (!body.destroyed) for await (const _ of read(body));
}

const read = (body: Readable): AsyncIterable<Buffer> => body.iterator({ destroyOnReturn: false });

/** Reads a repeated upload only for its fingerprint. Throws 400 for more than `maxBytes`. */
export async function printUpload(
  request: IncomingMessage,
  print: Fingerprint,
  maxBytes: number,
  signal: AbortSignal,
): Promise<void> {
  if (isJsonType(request.headers['content-type'])) {
    print.document('body', await readJson(request, MAX_JSON_BYTES));
    return;
  }
  let bytes = 0;
  const count = async ({ body }: MultipartPart): Promise<void> => {
    for await (const chunk of read(body)) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(`the upload has at least ${bytes} bytes; an upload may have ${maxBytes}`);
    }
  };
  await readMultipart(request, MULTIPART_LIMITS, (part) => takePrinted(part, print, count), signal);
}
