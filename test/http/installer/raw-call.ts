// A request as it goes over the wire: the path as written, the body piece by piece, without or with an end.

import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { App } from './installer-app.ts';

export interface RawAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

export interface OpenCall {
  readonly answer: Promise<RawAnswer>;
  write(piece: string | Buffer): void;
  end(): void;
  /** As a client that goes away. */
  cut(): Promise<void>;
}

/** Chunked as soon as something is written, unless the headers give a length. */
export function openCall(
  app: App,
  user: string | undefined,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): OpenCall {
  const authorization = user === undefined ? {} : { authorization: `Bearer ${user}` };
  const outgoing = request({ port: app.port, path, method, headers: { ...authorization, ...headers } });
  const answer = answerTo(outgoing);
  answer.catch(() => undefined);
  const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
  outgoing.on('error', () => undefined);
  return {
    answer,
    write: (piece) => void outgoing.write(piece),
    end: () => void outgoing.end(),
    cut: async () => {
      outgoing.destroy();
      await closed;
    },
  };
}

async function answerTo(outgoing: ReturnType<typeof request>): Promise<RawAnswer> {
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, bytes: await buffer(response) };
}

/** The whole call; `pieces` make it a chunked request. */
export function rawCall(
  app: App,
  user: string | undefined,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  pieces: readonly (string | Buffer)[] = [],
): Promise<RawAnswer> {
  const call = openCall(app, user, method, path, headers);
  for (const piece of pieces) call.write(piece);
  call.end();
  return call.answer;
}
