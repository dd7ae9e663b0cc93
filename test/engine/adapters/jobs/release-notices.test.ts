import t from 'tap';
import { ReleaseNotices } from '../../../../engine/adapters/jobs/release-notices.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

function setup() {
  const clock = new VirtualClock();
  const told: number[] = [];
  const notices = new ReleaseNotices(clock, async () => void told.push(clock.now()));
  const release = (): boolean => {
    const tells = notices.now();
    if (!tells) notices.owe();
    return tells;
  };
  return { clock, told, notices, release, begun: clock.now() };
}

t.test('ten releases are told of at once, and all that follow by one notice after 100 ms', async (t) => {
  const { clock, told, release, begun } = setup();
  t.strictSame(
    Array.from({ length: 30 }, release),
    Array.from({ length: 30 }, (_, n) => n < 10),
  );
  await clock.advance(99);
  t.strictSame(told, []);
  await clock.advance(1);
  t.strictSame(told, [begun + 100]);
  await clock.advance(60_000);
  t.strictSame(told, [begun + 100], 'nothing is owed any more');
  t.ok(release());
});

t.test('a release of a statement that ended after the notice is told of by the next one', async (t) => {
  const { clock, told, notices, release, begun } = setup();
  for (let n = 0; n < 11; n++) release();
  t.notOk(notices.now(), 'its statement lasts');
  await clock.advance(150);
  t.strictSame(told, [begun + 100]);
  notices.owe();
  await clock.advance(100);
  t.equal(told.length, 2);
});

t.test('a notice that was refused does not keep the next ones back', async (t) => {
  const clock = new VirtualClock();
  let calls = 0;
  const notices = new ReleaseNotices(clock, async () => {
    calls++;
    throw new Error('connection lost');
  });
  for (let n = 1; n <= 3; n++) {
    notices.owe();
    await clock.advance(100);
    t.equal(calls, n);
  }
});

t.test('who closes tells what is owed, and nothing else', async (t) => {
  const { told, notices, release, clock } = setup();
  release();
  await notices[Symbol.asyncDispose]();
  t.strictSame(told, [], 'the statement told');
  for (let n = 0; n < 10; n++) release();
  await notices[Symbol.asyncDispose]();
  t.equal(told.length, 1);
  await clock.advance(60_000);
  t.equal(told.length, 1);
});
