import t from 'tap';
import { aborted, defect, rejected, transient } from '../../../engine/runtime/failure.ts';
import {
  afterFailure,
  attemptsFor,
  Backoff,
  backoffMs,
  DELAYS,
  persisting,
  retrying,
} from '../../../engine/runtime/retry.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const policy = { attempts: 3, baseMs: 1000, maxMs: 10_000 };
const low = (): number => 0;
const high = (): number => 0.999_999;

t.test('delays grow from the base to the maximum, with full jitter above the base', async (t) => {
  t.strictSame(
    [1, 2, 3, 4, 50].map((failures) => [backoffMs(policy, failures, low), backoffMs(policy, failures, high)]),
    [
      [1000, 2000],
      [1000, 4000],
      [1000, 8000],
      [1000, 10_000],
      [1000, 10_000],
    ],
  );
});

t.test('only transient failures are tried again, until the attempts are used up', async (t) => {
  const again = { kind: 'again', delayMs: 1000, countsAttempt: true };
  t.strictSame(afterFailure(policy, 0, transient('busy'), low), again);
  t.strictSame(afterFailure(policy, 1, transient('busy'), low), again);
  t.strictSame(afterFailure(policy, 2, transient('busy'), low), { kind: 'give-up' });
  for (const error of [rejected('bad'), aborted('stop'), defect('bug'), new Error('bug'), 'text']) {
    t.strictSame(afterFailure(policy, 0, error, low), { kind: 'give-up' });
  }
});

t.test('an unreachable dependency uses up no try', async (t) => {
  const refused = transient('refused', { unreachable: true });
  t.strictSame(afterFailure(policy, 2, refused, low), { kind: 'again', delayMs: 1000, countsAttempt: false });
});

t.test('a failure that is worth fewer attempts gets no more', async (t) => {
  const late = transient('late', { maxAttempts: 2 });
  t.strictSame(afterFailure(policy, 0, late, low), { kind: 'again', delayMs: 1000, countsAttempt: true });
  t.strictSame(afterFailure(policy, 1, late, low), { kind: 'give-up' });
  t.strictSame([attemptsFor(policy, late), attemptsFor({ attempts: 1 }, late), attemptsFor(policy, 'text')], [2, 1, 3]);
});

t.test('a success starts the delays over', async (t) => {
  const backoff = new Backoff(policy, high);
  t.strictSame([backoff.failed(), backoff.failed(), backoff.failures], [2000, 4000, 2]);
  backoff.succeeded();
  t.strictSame([backoff.failures, backoff.failed()], [0, 2000]);
});

t.test('retrying counts attempts, waits out the unreachable and throws the last error', async (t) => {
  const clock = new VirtualClock(0);
  const errors = [
    transient('refused', { unreachable: true }),
    transient('busy'),
    transient('refused', { unreachable: true }),
    transient('still busy'),
    transient('busy to the end'),
  ];
  const at: number[] = [];
  const trying = retrying(
    policy,
    clock,
    async () => {
      at.push(clock.now());
      throw errors[at.length - 1];
    },
    new AbortController().signal,
    high,
  );
  const failed = t.rejects(trying, { message: 'busy to the end' });
  await clock.advance(60_000);
  await failed;
  t.strictSame(at, [0, 2000, 6000, 14_000, 24_000]);
});

t.test('retrying ends with its signal', async (t) => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const trying = retrying(policy, clock, () => Promise.reject(transient('busy')), stop.signal, low);
  const failed = t.rejects(trying, { message: 'shutdown' });
  await clock.settle();
  stop.abort(aborted('shutdown'));
  await failed;
  t.equal(clock.pending, 0);
});

t.test('persisting repeats whatever fails until it succeeds, and says each failure', async (t) => {
  const clock = new VirtualClock(0);
  const errors: unknown[] = [new Error('one'), transient('two'), defect('three')];
  const said: unknown[] = [];
  const attempt = async (): Promise<string> => {
    const error = errors[said.length];
    if (error !== undefined) throw error;
    return 'done';
  };
  const { signal } = new AbortController();
  const done = persisting(DELAYS.batch, clock, attempt, (error) => said.push(error), signal);
  while (await clock.advanceToNext());
  t.equal(await done, 'done');
  t.strictSame(said, errors);
  // Three pauses, each at least as long as the shortest.
  t.ok(clock.now() >= 3 * DELAYS.batch.baseMs, `${clock.now()} ms`);
});

t.test('persisting ends with what the one who hears of a failure throws', async (t) => {
  const rethrow = (error: unknown): void => {
    throw error;
  };
  const attempt = (): Promise<never> => Promise.reject(defect('bug'));
  const { signal } = new AbortController();
  await t.rejects(persisting(DELAYS.batch, new VirtualClock(0), attempt, rethrow, signal), { message: 'bug' });
});

t.test('persisting gives up when it is told to, before an attempt, in it and in a pause', async (t) => {
  for (const when of ['before', 'within', 'pause'] as const) {
    const clock = new VirtualClock(0);
    const stop = new AbortController();
    if (when === 'before') stop.abort();
    let attempts = 0;
    let heard = 0;
    const attempt = async (): Promise<never> => {
      attempts++;
      if (when === 'within') stop.abort();
      throw transient('away');
    };
    const over = persisting(DELAYS.batch, clock, attempt, () => heard++, stop.signal);
    await clock.settle();
    if (when === 'pause') stop.abort();
    t.equal(await over, undefined, when);
    t.strictSame([attempts, heard], { before: [0, 0], within: [1, 0], pause: [1, 1] }[when], when);
    t.equal(clock.pending, 0, when);
  }
});

t.test('an attempt of persisting that goes well for a while starts the delays over', async (t) => {
  const clock = new VirtualClock(0);
  const stop = new AbortController();
  const failures: number[] = [];
  const attempt = async (backoff: Backoff): Promise<void> => {
    failures.push(backoff.failures);
    if (failures.length === 3) backoff.succeeded();
    if (failures.length === 5) stop.abort();
    throw transient('cut off');
  };
  const over = persisting(DELAYS.batch, clock, attempt, () => undefined, stop.signal);
  while (await clock.advanceToNext());
  await over;
  t.strictSame(failures, [0, 1, 2, 1, 2]);
});
