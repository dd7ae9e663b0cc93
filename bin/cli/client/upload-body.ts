// The multipart body of an upload. Each file has its `Content-Digest`, which FormData cannot add.

import { randomUUID } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { stringifyJson } from '../../../engine/model/json.ts';
import { Failure } from '../../../engine/runtime/failure.ts';
import { digestOfFile } from './content-digests.ts';

/** What an upload consists of: files, or the URL of one. */
export interface UploadContent {
  readonly files: readonly string[];
  readonly url?: string | undefined;
  /** Called with the bytes of the files that were sent since the last call; negative when some have to be sent again. */
  readonly sent?: (bytes: number) => void;
}

interface Part {
  readonly head: readonly string[];
  readonly content: Blob | string;
}

/** Its type is the header `Content-Type`, and its size is known, so the request has a Content-Length. */
export async function uploadBody(
  details: object,
  { files, url, sent = () => {} }: UploadContent,
  signal: AbortSignal,
): Promise<Blob> {
  const parts: Part[] = [
    // Details go first, so that a server rejects bad metadata before any data are sent.
    {
      head: [`${disposition('details')}; filename="details.json"`, 'Content-Type: application/json'],
      content: stringifyJson(details),
    },
    ...(url === undefined ? [] : [{ head: [disposition('url')], content: url }]),
  ];
  let bytes = 0;
  for (const file of files) {
    await demandBlobSize(file);
    const content = await openAsBlob(file);
    bytes += content.size;
    const head = [
      `${disposition('dataFile')}; filename="${escaped(basename(file))}"`,
      'Content-Type: application/octet-stream',
      `Content-Digest: ${await digestOfFile(file, signal)}`,
    ];
    parts.push({ head, content });
  }
  const boundary = randomUUID();
  const pieces = parts.flatMap(({ head, content }) => [
    `--${boundary}\r\n${head.join('\r\n')}\r\n\r\n`,
    content,
    '\r\n',
  ]);
  return new CountedBlob([...pieces, `--${boundary}--\r\n`], `multipart/form-data; boundary=${boundary}`, bytes, sent);
}

/** Node.js counts the bytes of a file's Blob modulo 4 GiB, and would send something else. */
const MAX_BLOB_BYTES = 2 ** 32 - 1;

/** Only resumable uploads send larger files. */
async function demandBlobSize(file: string): Promise<void> {
  const { size } = await stat(file);
  if (size <= MAX_BLOB_BYTES) return;
  throw new Failure(
    'rejected',
    `${file} has ${size} bytes; a server without resumable uploads takes at most ${MAX_BLOB_BYTES} per file`,
  );
}

const disposition = (name: string): string => `Content-Disposition: form-data; name="${name}"`;

/** As the HTML standard has it. */
const escaped = (name: string): string => name.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22');

/** Reports how much of it was sent. */
class CountedBlob extends Blob {
  readonly #bytes: number;
  readonly #sent: (bytes: number) => void;

  /**
   * @param bytes of the files, of which it reports no more
   * @param sent called with the length of each chunk when the connection takes it
   */
  constructor(pieces: readonly (Blob | string)[], type: string, bytes: number, sent: (bytes: number) => void) {
    super([...pieces], { type });
    this.#bytes = bytes;
    this.#sent = sent;
  }

  override stream(): ReturnType<Blob['stream']> {
    let left = this.#bytes;
    const sent = this.#sent;
    const count = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(piece, controller) {
        const counted = Math.min(left, piece.length);
        left -= counted;
        sent(counted);
        controller.enqueue(piece);
      },
    });
    return super.stream().pipeThrough(count);
  }
}
