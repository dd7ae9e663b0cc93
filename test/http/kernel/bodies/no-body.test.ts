// A request that announces no body has ended before anybody reads it: no event tells so.

import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { readBytes, readJson } from '../../../../http/kernel/bodies/body.ts';
import { bodyStream } from '../../../../http/kernel/bodies/body-stream.ts';
import { readMultipart } from '../../../../http/kernel/bodies/multipart.ts';
import type { RequestContext } from '../../../../http/kernel/pipeline/context.ts';
import { httpApp, raw, route } from '../../http-app.ts';

const LIMITS = { parts: 2, fieldBytes: 10 };

const READERS: Readonly<Record<string, (context: RequestContext) => Promise<unknown>>> = {
  '/bytes': async ({ request }) => (await readBytes(request, 10)).length,
  '/json': ({ request }) => readJson(request, 10),
  '/stream': async ({ request }) => (await buffer(bodyStream(request))).length,
  '/parts': ({ request, signal }) => readMultipart(request, LIMITS, async () => undefined, signal),
  '/unread': async () => 'nothing',
  // Others work before they read.
  '/late': async ({ request }) => {
    await new Promise(setImmediate);
    return (await readBytes(request, 10)).length;
  },
  '/late-stream': async ({ request }) => {
    await new Promise(setImmediate);
    return (await buffer(bodyStream(request))).length;
  },
};

t.test('whoever reads it finds it empty, and the connection goes on', async (t) => {
  const app = await httpApp(
    t,
    Object.entries(READERS).map(([path, read]) =>
      route(path, 'open', async (context) => context.json(200, await read(context)), { method: 'POST' }),
    ),
  );
  const post = (path: string, type: string): string =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n\r\n`;
  const ask = async (path: string, type = 'text/plain'): Promise<readonly string[]> => {
    const answers = await raw(
      app.port,
      `${post(path, type)}GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    );
    // Each body is in one line, and the next answer follows it directly.
    return answers
      .split('HTTP/1.1 ')
      .slice(1)
      .map((one) => `${one.slice(0, 3)} ${one.split('\r\n\r\n')[1]?.replace(/,"requestId.*/, '')}`);
  };
  const ready = '200 {"ready":true}';
  t.same(await ask('/bytes'), ['200 0', ready]);
  t.same(await ask('/stream'), ['200 0', ready]);
  t.same(await ask('/unread'), ['200 "nothing"', ready]);
  t.same(await ask('/late'), ['200 0', ready]);
  t.same(await ask('/late-stream'), ['200 0', ready]);
  const json = '400 {"status":"bad-request","message":"the body is not JSON: Unexpected end of JSON input"}';
  t.same(await ask('/json', 'application/json'), [json, ready]);
  const parts =
    '400 {"status":"bad-request","message":"the multipart body is malformed: Unexpected end of multipart data"}';
  t.same(await ask('/parts', 'multipart/form-data; boundary=x'), [parts, ready]);
});
