import t from 'tap';
import { Breaker, type BreakerState, DEFAULT_BREAKER } from '../../../engine/runtime/breaker.ts';
import { aborted, rejected, transient } from '../../../engine/runtime/failure.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

function setup() {
  const clock = new VirtualClock(0);
  const changes: BreakerState[] = [];
  const options = { ...DEFAULT_BREAKER, changed: (state: BreakerState) => changes.push(state) };
  const breaker = new Breaker('plugin genelist:1.0', options, clock);
  const fail = (error: unknown = transient('reset')) => breaker.run(() => Promise.reject(error)).catch(() => {});
  const failTimes = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) await fail();
  };
  return { clock, breaker, changes, fail, failTimes };
}

t.test('five transient failures in a row open it; then calls fail at once without being made', async (t) => {
  const { breaker, changes, failTimes } = setup();
  await failTimes(4);
  t.equal(breaker.state, 'closed');
  await failTimes(1);
  t.equal(breaker.state, 'open');
  const refused = breaker.run(async () => t.fail('called'));
  await t.rejects(refused, { kind: 'transient', unreachable: true, message: /genelist:1\.0.*next probe in 30 s/ });
  t.strictSame(changes, ['open']);
});

t.test('an answer in between starts the count over, be it an error of the user', async (t) => {
  const { breaker, fail, failTimes } = setup();
  await failTimes(4);
  await breaker.run(async () => 'fine');
  await failTimes(4);
  await fail(rejected('validation failed'));
  await failTimes(4);
  t.equal(breaker.state, 'closed');
});

t.test('one probe goes after 30 s; its success closes', async (t) => {
  const { clock, breaker, changes, failTimes } = setup();
  await failTimes(5);
  await clock.advance(29_999);
  t.strictSame([breaker.blocked, breaker.retryInMs], [true, 1]);
  await clock.advance(1);
  t.equal(breaker.blocked, false);
  const answer = Promise.withResolvers<string>();
  const probe = breaker.run(() => answer.promise);
  await t.rejects(
    breaker.run(async () => t.fail('called')),
    { message: /a probe is under way/, unreachable: true },
  );
  answer.resolve('well again');
  t.equal(await probe, 'well again');
  t.strictSame(changes, ['open', 'half-open', 'closed']);
  await failTimes(4);
  t.equal(breaker.state, 'closed', 'the count starts over');
});

t.test('a failed probe opens again for another 30 s', async (t) => {
  const { clock, breaker, changes, failTimes } = setup();
  await failTimes(5);
  await clock.advance(30_000);
  await failTimes(1);
  t.strictSame([breaker.state, breaker.retryInMs], ['open', 30_000]);
  t.strictSame(changes, ['open', 'half-open', 'open']);
});

t.test('an aborted probe proves nothing: the next call probes', async (t) => {
  const { clock, breaker, fail } = setup();
  for (let i = 0; i < 5; i++) await fail();
  await clock.advance(30_000);
  await fail(aborted('shutdown'));
  t.strictSame([breaker.state, breaker.blocked], ['open', false]);
  await breaker.run(async () => 'fine');
  t.equal(breaker.state, 'closed');
});

t.test('an answer from before it opened changes nothing', async (t) => {
  const { breaker, failTimes } = setup();
  const late = Promise.withResolvers<string>();
  const slow = breaker.run(() => late.promise);
  await failTimes(5);
  late.resolve('from long ago');
  await slow;
  t.equal(breaker.state, 'open');
});

t.test('a probe that lasts was taken on and closes; how it ends is no news then', async (t) => {
  const clock = new VirtualClock(0);
  const breaker = new Breaker('plugin', { failures: 1, probeMs: 1_000, acceptedMs: 500 }, clock);
  const fail = () => breaker.run(() => Promise.reject(transient('reset'))).catch(() => {});
  await fail();
  await clock.advance(1_000);
  const end = Promise.withResolvers<never>();
  const probe = breaker.run(() => end.promise).catch(() => {});
  await clock.advance(499);
  t.equal(breaker.state, 'half-open');
  await clock.advance(1);
  t.equal(breaker.state, 'closed');
  end.reject(transient('reset'));
  await probe;
  t.equal(breaker.state, 'closed');
  await fail();
  await clock.advance(1_000);
  await fail();
  await clock.advance(500);
  t.same([breaker.state, clock.pending], ['open', 0], 'a probe that ended sooner closes nothing later');
});
