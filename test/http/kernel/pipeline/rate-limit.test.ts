import t from 'tap';
import { fetch } from 'undici';
import { RateLimit, type RateLimits } from '../../../../http/kernel/pipeline/rate-limit.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { ADMIN, bearer, httpApp, route } from '../../http-app.ts';

function limiter(limits: RateLimits) {
  const clock = new VirtualClock();
  const rate = new RateLimit(limits, clock);
  const count = (key = '1', policy: 'user' | 'address' = 'user') => {
    const headers: Record<string, unknown> = {};
    const response = {
      setHeader: (name: string, value: unknown) => Object.assign(headers, { [name]: value }),
    } as never;
    try {
      rate.count(policy, key, response);
      return { headers };
    } catch (error) {
      const { code, message, headers: more } = error as { code: number; message: string; headers: object };
      return { headers, code, message, more };
    }
  };
  return { clock, count };
}

t.test('the requests of a minute may come at once, and come back evenly over a minute', async (t) => {
  const { clock, count } = limiter({ perUser: 6 });
  t.strictSame(count().headers, { 'ratelimit-policy': '"user";q=6;w=60', ratelimit: '"user";r=5;t=10' });
  for (let i = 0; i < 4; i++) count();
  t.strictSame(count().headers.ratelimit, '"user";r=0;t=60');
  t.match(count(), {
    headers: { ratelimit: '"user";r=0;t=70' },
    code: 429,
    message: 'too many requests from you: 6 per minute are allowed',
    more: { 'retry-after': '10' },
  });
  await clock.advance(9_999);
  t.equal(count().code, 429, 'a refused request costs nothing');
  await clock.advance(1);
  t.equal(count().code, undefined);
  t.equal(count().code, 429);
  await clock.advance(3_600_000);
  t.equal(count().headers.ratelimit, '"user";r=5;t=10', 'no more than those of a minute are saved up');
});

t.test('each key has its own, and what is not configured has no limit', async (t) => {
  const { count } = limiter({ perAddress: 1 });
  t.equal(count('192.0.2.1', 'address').code, undefined);
  t.match(count('192.0.2.1', 'address'), { code: 429, message: /from your address: 1 per minute/ });
  t.equal(count('192.0.2.2', 'address').code, undefined);
  for (let i = 0; i < 10; i++) t.strictSame(count('1', 'user'), { headers: {} });
});

t.test('of too many keys, the one whose last request is oldest is forgotten', async (t) => {
  const { count } = limiter({ perUser: 1 });
  count('first');
  count('second');
  for (let i = 0; i < 9_999; i++) count(`other ${i}`);
  t.equal(count('second').code, 429);
  t.equal(count('first').code, undefined);
});

t.test('users are limited by user and address; routes for operators, and administrators, are not', async (t) => {
  const routes = [
    route('/mine', 'user-or-admin', async (context) => context.json(200, {})),
    route('/open', 'open', async (context) => context.json(200, {})),
  ];
  const app = await httpApp(t, routes, { rateLimits: { perUser: 2, perAddress: 10 }, clock: new VirtualClock() });
  const call = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(app.url + path, { headers });
    await response.arrayBuffer();
    return response;
  };
  const as = async (subject: string) => ({ authorization: `Bearer ${await bearer({}, { subject })}` });
  const [ann, bob] = [await as('1'), await as('2')];
  const first = await call('/mine', ann);
  t.equal(first.headers.get('ratelimit'), '"user";r=1;t=30');
  t.equal((await call('/mine', ann)).status, 200);
  const refused = await call('/mine', ann);
  t.match([refused.status, refused.headers.get('retry-after')], [429, '30']);
  t.equal((await call('/mine', bob)).status, 200, 'another user has his own');
  for (let i = 0; i < 3; i++) t.equal((await call('/mine', { 'admin-token': ADMIN })).status, 200);
  for (let i = 0; i < 3; i++) t.equal((await call('/open')).status, 200);
  t.equal((await call('/open')).status, 429, 'ten requests came from this address');
  t.equal((await call('/mine', { authorization: 'Bearer nonsense' })).status, 429, 'before the token is looked at');
  for (const path of ['/health', '/ready', '/metrics']) t.equal((await call(path)).status, 200, path);
});
