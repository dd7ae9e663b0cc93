// What plugin servers are sent: fields as JSON, and the parts besides them.

import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { parseJson, stringifyJson } from '../../model/json.ts';
import type { PluginCall, PluginClient, StreamedFile } from '../../ports/plugin-client.ts';
import { Failure } from '../../runtime/failure.ts';

/** The content of the plugin protocol's calls: fields as JSON, and the parts besides them. */
export const ids = (call: PluginCall): Record<string, string | number> => ({
  'event-id': call.eventId,
  'vdi-id': call.dataset,
});

/** A JSON object of plain values and of values that are JSON text already, so that user ids keep all digits. */
export function fields(
  values: Readonly<Record<string, string | number>>,
  documents: Readonly<Record<string, string>>,
): string {
  const plain = Object.entries(values).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const nested = Object.entries(documents).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  return `{${[...plain, ...nested].join(',')}}`;
}

/** Stored documents are indented for people; plugin servers get them compact. */
export const compact = (json: string): string => stringifyJson(parseJson(json));

export const propertiesPart = (file: StreamedFile): Part => ({
  name: 'dataProperties',
  file,
  fileName: file.name,
  contentType: 'application/octet-stream',
});

export const uninstallBody = (call: Parameters<PluginClient['uninstall']>[0]): string =>
  fields(
    { ...ids(call), 'install-target': call.target },
    { type: JSON.stringify({ name: call.type.name, version: call.type.version }) },
  );

// A multipart/form-data body that streams although its length is known in advance.

/** As existing installers write it. */
export const JSON_TYPE = 'application/json; charset=utf-8';

export type Part =
  /** A plain JSON field. It has no file name, because servers reject a file where they expect a field. */
  | { readonly name: string; readonly json: string }
  | { readonly name: string; readonly file: StreamedFile; readonly fileName: string; readonly contentType: string };

export interface MultipartBody {
  readonly contentType: string;
  readonly contentLength: number;
  readonly stream: Readable;
  /** The error while a file was read, if any, as opposed to connection errors. */
  fault(): unknown;
}

export function multipartBody(parts: readonly Part[], signal: AbortSignal): MultipartBody {
  const boundary = `longshore-${randomBytes(16).toString('hex')}`;
  const heads = parts.map((part) => Buffer.from(head(part, boundary)));
  const tail = Buffer.from(`--${boundary}--\r\n`);
  let fault: unknown;

  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const [i, part] of parts.entries()) {
      yield heads[i] ?? tail;
      if ('json' in part) yield Buffer.from(part.json);
      else {
        try {
          yield* fileChunks(part.file, signal);
        } catch (error) {
          fault = error;
          throw error;
        }
      }
      yield CRLF;
    }
    yield tail;
  }

  const lengths = parts.map((part, i) => (heads[i]?.length ?? 0) + partSize(part) + CRLF.length);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    contentLength: lengths.reduce((sum, length) => sum + length, tail.length),
    stream: Readable.from(chunks(), { objectMode: false }),
    fault: () => fault,
  };
}

const CRLF = Buffer.from('\r\n');

const partSize = (part: Part): number => ('json' in part ? Buffer.byteLength(part.json) : part.file.size);

function head(part: Part, boundary: string): string {
  const file = 'json' in part ? '' : `; filename="${escapeName(part.fileName)}"`;
  const type = 'json' in part ? JSON_TYPE : part.contentType;
  return `--${boundary}\r\nContent-Disposition: form-data; name="${part.name}"${file}\r\nContent-Type: ${type}\r\n\r\n`;
}

/** Escapes like browsers do: the name must not end the quoted string or the header line. */
function escapeName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** Exactly as many bytes as announced; otherwise the server would misparse the rest of the body. */
async function* fileChunks(file: StreamedFile, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const chunk of await file.open(signal)) {
    sent += (chunk as Uint8Array).length;
    if (sent > file.size) break;
    yield chunk as Uint8Array;
  }
  if (sent !== file.size)
    throw new Failure(
      'defect',
      `'${file.name}' has ${sent > file.size ? 'more' : 'fewer'} bytes than its ${file.size}`,
    );
}
