import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { LinkedControllers } from '../../../../engine/runtime/joined-signal.ts';
import { HeldResponse } from '../../../../http/kernel/answers/held-response.ts';
import type { Route } from '../../../../http/kernel/pipeline/route.ts';
import { RequestScope } from '../../../../http/kernel/server/request-scope.ts';
import { aliveAfter, Forgetful } from '../../../support/live-objects.ts';
import { httpApp, route } from '../../http-app.ts';

/** A server whose end is in our hands; `over` resolves when everything that was asked until now is over. */
async function setup(t: Test, routes: readonly Route[]) {
  const { pipeline } = await httpApp(t, routes);
  const stopped = new AbortController();
  const underWay = new LinkedControllers(stopped.signal);
  const requests: Promise<unknown>[] = [];
  const server = createServer({ ServerResponse: HeldResponse }, (request, response) => {
    requests.push(pipeline.handle(request, response, underWay), once(response, 'close'));
  });
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const over = async (): Promise<void> => void (await Promise.all(requests.splice(0)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stopped, underWay, over };
}

t.test('of a request that is over nothing is kept, whatever still listens to its signal', async (t) => {
  const forgetting = (path: string, handler: Route['handler']): Route =>
    route(path, 'open', (context) => {
      Forgetful.listenTo(context.signal);
      return handler(context);
    });
  const { url, stopped, underWay, over } = await setup(t, [
    forgetting('/answered', async (context) => context.json(200, 'yes')),
    forgetting('/failed', async () => {
      throw new Error('no');
    }),
    forgetting('/abandoned', async (context) => {
      context.response.write('half');
      await once(context.signal, 'abort');
    }),
  ]);
  const statuses: number[] = [];
  const callAll = async (): Promise<void> => {
    for (const path of ['/answered', '/failed', '/abandoned', '/answered', '/failed']) {
      const leaving = new AbortController();
      const response = await fetch(url + path, { headers: { connection: 'close' }, signal: leaving.signal });
      statuses.push(response.status);
      if (path === '/abandoned') leaving.abort();
      await response.text().catch(() => undefined);
      await over();
    }
  };
  t.equal(await aliveAfter(callAll, Forgetful), 0);
  t.equal(await aliveAfter(() => undefined, RequestScope), 0);
  t.strictSame(statuses, [200, 500, 200, 200, 500]);
  t.strictSame([stopped.signal.aborted, underWay.size], [false, 0]);
});

t.test('the end of the server aborts what is under way, and not what is over', async (t) => {
  const reasons: (() => unknown)[] = [];
  const entered = Promise.withResolvers<void>();
  const { url, stopped, over } = await setup(t, [
    route('/over', 'open', async (context) => {
      const { signal } = context;
      reasons.push(
        () => signal.reason,
        // Asked for by something that outlived its request.
        () => context.signal.reason,
      );
      context.json(200, 'yes');
    }),
    route('/asks-late', 'open', async (context) => {
      reasons.push(() => context.signal.reason);
      context.json(200, 'yes');
    }),
    route('/under-way', 'open', async (context) => {
      const { signal } = context;
      reasons.push(() => signal.reason);
      entered.resolve();
      await once(signal, 'abort');
      context.json(200, 'late');
    }),
  ]);
  for (const path of ['/over', '/asks-late']) await (await fetch(url + path)).text();
  await over();
  const answer = fetch(`${url}/under-way`);
  await entered.promise;
  stopped.abort('the end');
  t.equal(await (await answer).json(), 'late');
  t.strictSame(
    reasons.map((reason) => reason()),
    [undefined, undefined, undefined, 'the end'],
  );
});
