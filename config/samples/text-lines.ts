// Text files as streams. What is not UTF-8 text is refused by name instead of being read as something else.

import { createReadStream } from 'node:fs';
import { Refusal, shown } from './sample.ts';

/** Decoded pieces of the file, without a byte order mark. */
export async function* textChunks(path: string, name: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Buffer): string => {
    try {
      const text = chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
      if (!text.includes('\0')) return text;
    } catch {
      // said below, with the file's name
    }
    throw new Refusal([`${shown(name)} is not a text file in UTF-8`]);
  };
  for await (const chunk of createReadStream(path)) yield decode(chunk as Buffer);
  yield decode();
}

/** Lines without their ends (LF or CR LF), each at most `maxLength` characters. */
export async function* textLines(path: string, name: string, maxLength: number): AsyncGenerator<string> {
  let rest = '';
  let line = 1;
  const checked = (text: string): string => {
    if (text.length > maxLength)
      throw new Refusal([`${shown(name)}, line ${line}: longer than ${maxLength} characters`]);
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  };
  for await (const chunk of textChunks(path, name)) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) {
      yield checked(text);
      line++;
    }
    checked(rest);
  }
  if (rest !== '') yield checked(rest);
}
