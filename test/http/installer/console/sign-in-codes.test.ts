import t from 'tap';
import { SignInCodes } from '../../../../http/installer/console/sign-in-codes.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

function setup() {
  const clock = new VirtualClock();
  const shown: string[] = [];
  const codes = new SignInCodes(clock, (code) => shown.push(code));
  codes.issue();
  return { clock, shown, codes, newest: () => shown.at(-1) ?? '' };
}

t.test('a code works once; the operator is shown the next one', async (t) => {
  const { codes, shown, newest } = setup();
  const first = newest();
  t.match(first, /^[\w-]{43}$/);
  t.equal(codes.use(first), 'right');
  t.equal(shown.length, 2);
  t.equal(codes.use(first), 'stale');
  t.equal(shown.length, 2, 'the one that is shown still works');
  t.equal(codes.use(newest()), 'right');
});

t.test('a code expires after an hour, and is replaced when somebody tries it', async (t) => {
  const { codes, clock, shown, newest } = setup();
  const first = newest();
  await clock.advance(3_600_000);
  t.equal(codes.use(first), 'stale');
  t.equal(shown.length, 2);
  t.equal(codes.use(newest()), 'right');
});

t.test('another code is wrong, and changes nothing', async (t) => {
  const { codes, shown, newest } = setup();
  t.equal(codes.use('x'.repeat(43)), 'wrong');
  t.equal(shown.length, 1);
  t.equal(codes.use(newest()), 'right');
});
