// Uploads without a Content-Length, written by hand: to the end, or cut off.

import { type IncomingMessage, request } from 'node:http';
import type { App, FormPart } from './installer-app.ts';

export interface Target {
  readonly method: string;
  readonly path: string;
}
const CREATE: Target = { method: 'POST', path: '/datasets' };

/** A chunked request of some parts and one data file of zeros. */
export async function streamed(app: App, user: string, parts: readonly FormPart[], bytes: number) {
  const upload = chunked(app, user, CREATE);
  for (const part of parts) upload.write(fieldOf(part));
  upload.write(fileHead('zeros.zip'));
  upload.write(Buffer.alloc(bytes));
  upload.end('\r\n--B--\r\n');
  return answerOf(await upload.response);
}

/** A request whose first file is stored and whose second waits to be finished, or given up. */
export function openUpload(app: App, user: string, target: Target = CREATE, headers: Record<string, string> = {}) {
  const stored = new Promise<void>((resolve) => {
    const before = app.store.onCall;
    app.store.onCall = (method, key) => {
      before(method, key);
      if (method === 'put' && key.startsWith(user) && key.endsWith('two.txt')) resolve();
    };
  });
  const upload = chunked(app, user, target, headers);
  upload.response.catch(() => undefined);
  upload.write(`${fileHead('one.txt')}first\r\n`);
  upload.write(`${fileHead('two.txt')}second`);
  return {
    stored,
    abort: () => upload.destroy(),
    /** Ends the second file, adds some parts, and has the answer. */
    finish: async (parts: readonly FormPart[]) => {
      upload.end(`\r\n${parts.map(fieldOf).join('')}--B--\r\n`);
      return answerOf(await upload.response);
    },
  };
}

async function answerOf(response: IncomingMessage) {
  const text = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, body: JSON.parse(text) as unknown };
}

const fieldOf = ([name, content]: FormPart): string =>
  `--B\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;

const fileHead = (name: string): string =>
  `--B\r\ncontent-disposition: form-data; name="dataFile"; filename="${name}"\r\ncontent-type: text/plain\r\n\r\n`;

function chunked(app: App, user: string, { method, path }: Target, headers: Record<string, string> = {}) {
  const outgoing = request({
    port: app.port,
    path,
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${user}`,
      'content-type': 'multipart/form-data; boundary=B',
      'transfer-encoding': 'chunked',
    },
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
  });
  return {
    response,
    write: (bytes: string | Buffer) => void outgoing.write(bytes),
    end: (bytes: string) => void outgoing.end(bytes),
    destroy: () => void outgoing.destroy(),
  };
}
