// Uploads without a Content-Length, written by hand: to the end, or cut off.

import { type IncomingMessage, request } from 'node:http';
import type { App, FormPart } from './installer-app.ts';

/** A chunked request of some parts and one data file of zeros. */
export async function streamed(app: App, user: string, parts: readonly FormPart[], bytes: number) {
  const upload = chunked(app, user);
  for (const [name, content] of parts)
    upload.write(`--B\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`);
  upload.write(fileHead('zeros.zip'));
  upload.write(Buffer.alloc(bytes));
  upload.end('\r\n--B--\r\n');
  const response = await upload.response;
  const text = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, body: JSON.parse(text) as unknown };
}

/** A request whose first file is stored and whose second never ends. */
export function openUpload(app: App, user: string) {
  const stored = new Promise<void>((resolve) => {
    const before = app.store.onCall;
    app.store.onCall = (method, key) => {
      before(method, key);
      if (method === 'put' && key.startsWith(user) && key.endsWith('two.txt')) resolve();
    };
  });
  const upload = chunked(app, user);
  upload.response.catch(() => undefined);
  upload.write(`${fileHead('one.txt')}first\r\n`);
  upload.write(`${fileHead('two.txt')}second`);
  return { stored, abort: () => upload.destroy() };
}

const fileHead = (name: string): string =>
  `--B\r\ncontent-disposition: form-data; name="dataFile"; filename="${name}"\r\ncontent-type: text/plain\r\n\r\n`;

function chunked(app: App, user: string) {
  const outgoing = request({
    port: app.port,
    path: '/datasets',
    method: 'POST',
    headers: {
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
