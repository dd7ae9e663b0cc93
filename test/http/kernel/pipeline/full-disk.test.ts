import t from 'tap';
import { transient } from '../../../../engine/runtime/failure.ts';
import { METHODS } from '../../../../http/kernel/pipeline/route.ts';
import { ADMIN, httpApp, route } from '../../http-app.ts';

const LACK = 'the disk of the object store has 5 bytes free; writes stop below 10';

t.test('what would write is refused with 503 while a disk is full, and taken again by itself', async (t) => {
  let lack: string | undefined = LACK;
  const served = METHODS.map((method) => route('/x', 'admin', async (context) => context.empty(204), { method }));
  const prune = route('/prune', 'admin', async (context) => context.empty(204), {
    method: 'POST',
    servedWhenFull: true,
  });
  const app = await httpApp(t, [...served, prune], { room: { lack: async () => lack } });
  const call = async (method: string, path = '/x', token = ADMIN) => {
    const response = await fetch(app.url + path, { method, headers: { 'admin-token': token } });
    const text = await response.text();
    return [response.status, text === '' ? undefined : JSON.parse(text).message, response.headers.get('retry-after')];
  };
  for (const method of ['POST', 'PUT', 'PATCH']) t.strictSame(await call(method), [503, LACK, '30'], method);
  for (const method of ['GET', 'DELETE']) t.strictSame(await call(method), [204, undefined, null], method);
  t.strictSame(await call('POST', '/prune'), [204, undefined, null]);
  t.equal((await call('POST', '/x', 'b'.repeat(40)))[0], 403, 'who may not write is told so');
  lack = undefined;
  for (const method of METHODS) t.strictSame(await call(method), [204, undefined, null], method);
});

t.test('a full disk is named as the cause, however deep it lies, and never as a stop of the service', async (t) => {
  for (const code of ['ENOSPC', 'EDQUOT', '53100']) {
    const full = Object.assign(new Error('secret path'), { code });
    const failures = [
      full,
      transient('object store: put', { cause: full }),
      Object.assign(new Error('aborted', { cause: full }), { name: 'AbortError' }),
    ];
    for (const failure of failures) {
      const app = await httpApp(t, [route('/x', 'open', () => Promise.reject(failure))]);
      const response = await fetch(`${app.url}/x`);
      t.match(
        [response.status, await response.json()],
        [
          503,
          {
            status: 'server-error',
            message: 'the disk of the service is full; tell its operator, and try again later',
          },
        ],
      );
    }
  }
});
