import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { callApi } from '../../../../bin/cli/client/api-call.ts';
import { freePort } from '../../../support/ports.ts';

/** A server that takes requests and never answers; resolves with the address, and with the first request. */
async function silent(t: Test) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  return { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: once(server, 'request') };
}

t.test('a server that is not there, or gives no response within the deadline, is unreachable', async (t) => {
  const gone = `http://127.0.0.1:${await freePort()}`;
  await t.rejects(callApi({ server: gone, path: '/', headers: {} }, new AbortController().signal), {
    ...{ kind: 'transient', unreachable: true, message: /ECONNREFUSED/ },
  });
  const { server, asked } = await silent(t);
  const stop = new AbortController();
  const late = t.rejects(callApi({ server, path: '/', headers: {} }, stop.signal), {
    ...{ kind: 'transient', unreachable: true, message: `${server}: no response within the deadline` },
  });
  await asked;
  stop.abort(new DOMException('The operation timed out', 'TimeoutError'));
  await late;
});

t.test('a server that is not available at the moment is unreachable, and one that refuses is not', async (t) => {
  const codes: Readonly<Record<number, boolean>> = {
    401: false,
    409: false,
    500: false,
    502: true,
    503: true,
    504: true,
  };
  const server = createServer((request, response) => {
    response.writeHead(Number(request.url?.slice(1))).end('{"message":"the reason"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const [status, unreachable] of Object.entries(codes))
    await t.rejects(callApi({ server: url, path: `/${status}`, headers: {} }, new AbortController().signal), {
      ...{ name: 'Failure', status: Number(status), kind: unreachable ? 'transient' : 'rejected', unreachable },
      message: `${status}: the reason`,
    });
});

t.test('a caller that gives up is told its own reason', async (t) => {
  const { server, asked } = await silent(t);
  const stop = new AbortController();
  const reason = new DOMException('the user left', 'AbortError');
  const call = callApi({ server, path: '/', headers: {} }, stop.signal).catch((error: unknown) => error);
  await asked;
  stop.abort(reason);
  t.equal(await call, reason);
});
