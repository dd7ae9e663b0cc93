import pino from 'pino';
import t from 'tap';
import { type Dependency, vitalDependencies, waitForDependencies } from '../../../bin/compose/wait-for-dependencies.ts';
import type { Configuration } from '../../../config/configuration.ts';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { completeDocument } from '../../config/complete-document.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const away = (why: string) => transient(why, { unreachable: true });

/** Logs of a wait, each line with the second in which it was written. */
function setup() {
  const clock = new VirtualClock();
  const began = clock.now();
  const lines: (readonly [number, object])[] = [];
  const write = (line: string): void => {
    const { level: _level, time: _time, pid: _pid, hostname: _hostname, ...rest } = JSON.parse(line);
    lines.push([Math.round((clock.now() - began) / 1000), rest]);
  };
  const stop = new AbortController();
  const wait = (dependencies: readonly Dependency[], waitMs = 60_000): Promise<void> =>
    waitForDependencies(dependencies, { waitMs, clock, log: pino({ level: 'info' }, { write }) }, stop.signal);
  const secondsSince = (): number => (clock.now() - began) / 1000;
  return { clock, lines, wait, stop, secondsSince };
}

t.test('says nothing and takes no time when everything is there', async (t) => {
  const { clock, lines, wait } = setup();
  await wait([
    { name: 'cache database', probe: async () => undefined },
    { name: 'object store', probe: async () => undefined },
  ]);
  t.same(lines, []);
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('waits for all at once, and says at first, every ten seconds, and at last', async (t) => {
  const { clock, lines, wait, secondsSince } = setup();
  const thereFrom = (second: number, name: string): Dependency => ({
    name,
    async probe() {
      if (secondsSince() < second) throw away(`${name} is away`);
    },
  });
  const waiting = wait([
    thereFrom(0, 'cache database'),
    thereFrom(15, 'object store'),
    thereFrom(24, 'access database'),
  ]);
  await clock.advance(30_000);
  await waiting;
  // A try follows the one before within two seconds.
  const inTime = ({ dependency, waitedMs }: Record<string, unknown>): boolean => {
    const dueMs = dependency === 'object store' ? 15_000 : 24_000;
    return Number(waitedMs) >= dueMs && Number(waitedMs) <= dueMs + 2_000;
  };
  const still = 'still waiting for dependencies';
  const [STORE, ACCESS] = ['object store is away', 'access database is away'];
  t.strictSame(
    lines.map(([second, line]) => ('waitedMs' in line ? { ...line, waitedMs: inTime({ ...line }) } : [second, line])),
    [
      [0, { dependency: 'object store', reason: STORE, msg: 'a dependency is unavailable; waiting' }],
      [0, { dependency: 'access database', reason: ACCESS, msg: 'a dependency is unavailable; waiting' }],
      [10, { missing: { 'object store': STORE, 'access database': ACCESS }, secondsLeft: 50, msg: still }],
      { dependency: 'object store', waitedMs: true, msg: 'a dependency is available now' },
      [20, { missing: { 'access database': ACCESS }, secondsLeft: 40, msg: still }],
      { dependency: 'access database', waitedMs: true, msg: 'a dependency is available now' },
    ],
  );
});

t.test('ends after the time that is set with one failure that names whatever is missing, and why', async (t) => {
  const { clock, lines, wait, secondsSince } = setup();
  const waiting = wait(
    [
      { name: 'cache database', probe: () => Promise.reject(away('connection refused')) },
      { name: 'object store', probe: () => new Promise(() => undefined) },
      { name: 'access database', probe: async () => undefined },
    ],
    25_000,
  );
  const failed = t.rejects(waiting, {
    kind: 'transient',
    unreachable: true,
    message:
      'waited 25 s without success for: cache database (connection refused); object store (no response within 10 s)',
  });
  await clock.advance(24_999);
  t.same(
    lines.filter(([, line]) => 'secondsLeft' in line).map(([second]) => second),
    [10, 20],
  );
  await clock.advance(1);
  await failed;
  t.equal(secondsSince(), 25);
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('a dependency that says nothing is named as such before its first try is given up', async (t) => {
  const { clock, wait } = setup();
  const failed = t.rejects(wait([{ name: 'object store', probe: () => new Promise(() => undefined) }], 3_000), {
    message: 'waited 3 s without success for: object store (no response yet)',
  });
  await clock.advance(3_000);
  await failed;
});

t.test('does not wait for what time would not mend', async (t) => {
  const { clock, wait, secondsSince } = setup();
  const given: AbortSignal[] = [];
  const waiting = wait([
    { name: 'cache database', probe: () => Promise.reject(defect('a bug')) },
    {
      name: 'object store',
      probe: (signal) => {
        given.push(signal);
        return new Promise(() => undefined);
      },
    },
  ]);
  await t.rejects(waiting, { kind: 'defect', message: 'a bug' });
  t.equal(secondsSince(), 0);
  t.strictSame(
    given.map(({ aborted }) => aborted),
    [true],
    'the other try was given up',
  );
  t.equal(clock.pending, 0);
});

t.test('ends at once when it is stopped, between attempts and during one', async (t) => {
  for (const probe of [() => Promise.reject(away('refused')), () => new Promise<void>(() => undefined)]) {
    const { clock, wait, stop, secondsSince } = setup();
    const waiting = wait([{ name: 'cache database', probe }]);
    await clock.advance(1_000);
    stop.abort(aborted('stopped by SIGTERM'));
    await t.rejects(waiting, { kind: 'aborted', message: 'stopped by SIGTERM' });
    t.equal(secondsSince(), 1);
    t.equal(clock.pending, 0);
  }
});

t.test('a service is waited for by its own database, or by the one in which it has a schema', async (t) => {
  const { installer } = (await completeDocument('contract-form')) as unknown as Configuration;
  const db = installer.cacheDb;
  const names = (more: object): readonly string[] =>
    vitalDependencies({ installer, ...more } as Configuration, { clock: new VirtualClock(), log: silentLogger() }).map(
      ({ name }) => name,
    );
  const always = ['cache database', 'object store'];
  t.strictSame(names({}), always);
  t.strictSame(names({ access: {}, report: {} }), always);
  t.strictSame(names({ access: { db }, report: {} }), [...always, 'access database']);
  t.strictSame(names({ access: {}, report: { db } }), [...always, 'report database']);
});
