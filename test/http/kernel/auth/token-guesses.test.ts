import pino from 'pino';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { TokenGuesses } from '../../../../http/kernel/auth/token-guesses.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { ADMIN, httpApp, route } from '../../http-app.ts';

interface Line {
  readonly msg: string;
  readonly address: string;
}

async function setup(t: Test) {
  const clock = new VirtualClock();
  const lines: Line[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  const guesses = new TokenGuesses({ isProxy: () => true, clock, log });
  const report = route('/report', 'admin', async (context) => context.json(200, 1));
  const app = await httpApp(t, [report], { auth: { guesses } });
  const call = async (address: string, token = 'x'.repeat(40)) => {
    const headers = { 'admin-token': token, 'x-forwarded-for': `10.9.9.9, ${address}` };
    const response = await fetch(`${app.url}/report`, { headers });
    await response.body?.cancel();
    return { status: response.status, retryAfter: response.headers.get('retry-after') };
  };
  const statuses = async (address: string, times: number) => {
    const seen = [];
    for (let i = 0; i < times; i++) seen.push((await call(address)).status);
    return seen;
  };
  return { clock, lines, guesses, call, statuses };
}

const times = (count: number, status: number): readonly number[] => Array<number>(count).fill(status);

t.test('an address that sends wrong tokens is not listened to for a while, and no other one is', async (t) => {
  const { clock, call, statuses } = await setup(t);
  t.strictSame(await statuses('192.0.2.1', 22), [...times(20, 403), 429, 429]);
  t.strictSame(await call('192.0.2.1', ADMIN), { status: 429, retryAfter: '6' }, 'not even to the right one');
  t.equal((await call('192.0.2.2', ADMIN)).status, 200, 'another address');
  await clock.advance(5_999);
  t.strictSame(await call('192.0.2.1', ADMIN), { status: 429, retryAfter: '1' });
  await clock.advance(1);
  t.equal((await call('192.0.2.1', ADMIN)).status, 200, 'one more every 6 s');
  t.strictSame(await statuses('192.0.2.1', 2), [403, 429]);
  await clock.advance(12_000);
  t.strictSame(await statuses('192.0.2.1', 3), [403, 403, 429]);
});

t.test('right tokens cost nothing', async (t) => {
  const { call } = await setup(t);
  for (let i = 0; i < 50; i++) t.equal((await call('192.0.2.1', ADMIN)).status, 200);
});

t.test('whoever has a network of addresses has the guesses of one', async (t) => {
  const { statuses } = await setup(t);
  t.strictSame(await statuses('2001:db8:1:2::1', 20), times(20, 403));
  t.strictSame(await statuses('2001:db8:1:2:ffff::9', 1), [429]);
  t.strictSame(await statuses('2001:db8:1:3::1', 1), [403]);
  t.strictSame(await statuses('::ffff:192.0.2.7', 20), times(20, 403));
  t.strictSame(await statuses('192.0.2.7', 1), [429]);
});

t.test(
  'every wrong token that was looked at is logged, that an address is held off once, and never a token',
  async (t) => {
    const { clock, lines, statuses } = await setup(t);
    await statuses('192.0.2.1', 40);
    const refused = lines.filter(({ msg }) => msg === 'a wrong token was refused');
    t.equal(refused.length, 20);
    t.match(refused[0], { address: '192.0.2.1', method: 'GET', route: '/report' });
    const held = () => lines.filter(({ msg }) => msg === 'guesses of a token are held off').length;
    t.equal(held(), 1);
    await clock.advance(60_000);
    await statuses('192.0.2.1', 20);
    t.equal(held(), 1, 'it has not ceased meanwhile');
    await clock.advance(10 * 60_000);
    await statuses('192.0.2.1', 30);
    t.equal(held(), 2);
    t.notMatch(JSON.stringify(lines), /xxxx/);
  },
);

t.test('what is remembered of addresses is bounded', async (t) => {
  const { guesses } = await setup(t);
  const from = (n: number) => {
    const forwarded = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
    return { headers: { 'x-forwarded-for': forwarded }, socket: {} } as unknown as Parameters<typeof guesses.wrong>[0];
  };
  for (let n = 0; n < 12_000; n++) guesses.wrong(from(n), { method: 'GET', path: '/report' });
  t.equal(guesses.size, 10_000);
});
