// Text files as streams, with the strict decoder of all samples. Bytes that are not text are refused, never replaced. U+FFFD in
// a file is an ordinary character.

import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Refusal, type SampleIo, shown, TextPlace } from './sample.ts';
import { encodingOf, sayConverted, type TextEncoding, undecodable } from './text-encoding.ts';

/** Decoded pieces of an uploaded file, without a byte order mark. */
export async function* textChunks(path: string, name: string): AsyncGenerator<string> {
  const encoding = encodingOf(path, name);
  for await (const text of decodedChunks(path, name, encoding)) {
    if (text.includes('\0')) throw await nulRefusal(path, name, encoding);
    yield text;
  }
}

/** A file that a sample wrote: UTF-8 without a byte order mark, so a U+FEFF at its beginning is text. */
export async function* ownChunks(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for await (const chunk of createReadStream(path)) yield decoder.decode(chunk as Buffer, { stream: true });
  yield decoder.decode();
}

/** A whole file of at most a few megabytes. */
export async function wholeText(path: string, name: string): Promise<string> {
  let text = '';
  for await (const chunk of textChunks(path, name)) text += chunk;
  return text;
}

/** A whole file that this program wrote. Anything but UTF-8 is a defect and thrown unchanged. */
export function ownText(path: string): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
}

/** The lines of a file that a sample wrote; each ends with LF. */
export async function* ownLines(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of ownChunks(path)) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Rewrites the copy of the file in UTF-8 if it has another encoding, and tells the owner. */
export async function keepAsUtf8(from: string, to: string, name: string, io: SampleIo): Promise<void> {
  if (encodingOf(from, name) === 'utf-8') return;
  await pipeline(Readable.from(textChunks(from, name)), createWriteStream(to), { signal: io.signal });
  sayConverted(from, name, io);
}

async function* decodedChunks(path: string, name: string, encoding: TextEncoding): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decode = async (chunk?: Buffer): Promise<string> => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch {
      throw await undecodable(path, name, encoding);
    }
  };
  for await (const chunk of createReadStream(path)) yield await decode(chunk as Buffer);
  yield await decode();
}

/** PostgreSQL cannot store U+0000. */
async function nulRefusal(path: string, name: string, encoding: TextEncoding): Promise<Refusal> {
  const place = new TextPlace();
  for await (const text of decodedChunks(path, name, encoding)) {
    const nul = text.indexOf('\0');
    place.advance(nul < 0 ? text : text.slice(0, nul));
    if (nul >= 0) break;
  }
  return new Refusal([`${shown(name)} is not a text file: ${place} has a NUL character`]);
}
