// Requests of the tus protocol, as they go over the wire.

import { Buffer } from 'node:buffer';
import type { App } from '../installer-app.ts';
import { type RawAnswer, rawCall } from '../raw-call.ts';

export const TUS = { 'tus-resumable': '1.0.0' } as const;
export const OFFSET_TYPE = { 'content-type': 'application/offset+octet-stream' } as const;

export const base64 = (text: string | Buffer): string => Buffer.from(text as string).toString('base64');
export const named = (fileName: string): string => `filename ${base64(fileName)}`;

type Headers = Readonly<Record<string, string>>;

export interface Created {
  readonly answer: RawAnswer;
  readonly path: string;
  readonly id: string;
}

export async function create(
  app: App,
  user: string,
  length: number,
  more: Headers = {},
  body?: Buffer,
): Promise<Created> {
  const headers = { ...TUS, 'upload-length': String(length), 'upload-metadata': named('genes.txt'), ...more };
  const sized = { ...headers, 'content-length': String(body?.length ?? 0) };
  const answer = await rawCall(app, user, 'POST', '/uploads', sized, body ? [body] : []);
  const path = answer.headers.location === undefined ? '' : new URL(answer.headers.location).pathname;
  return { answer, path, id: path.split('/').at(-1) ?? '' };
}

export const patch = (app: App, user: string, path: string, offset: number, body: Buffer, more: Headers = {}) =>
  rawCall(
    ...([app, user, 'PATCH', path] as const),
    { ...TUS, ...OFFSET_TYPE, 'upload-offset': String(offset), 'content-length': String(body.length), ...more },
    [body],
  );

export const head = (app: App, user: string, path: string, headers: Headers = TUS) =>
  rawCall(app, user, 'HEAD', path, headers);

/** A whole upload. Returns its id. */
export async function received(app: App, user: string, fileName: string, content: Buffer): Promise<string> {
  const { id, answer } = await create(
    ...([app, user, content.length] as const),
    { 'upload-metadata': named(fileName), ...OFFSET_TYPE },
    content,
  );
  if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.bytes}`);
  return id;
}

export const messageOf = ({ bytes }: RawAnswer): string =>
  (JSON.parse(bytes.toString()) as { message: string }).message;
