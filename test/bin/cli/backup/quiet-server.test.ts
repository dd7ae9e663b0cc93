import t, { type Test } from 'tap';
import { QuietServer } from '../../../../bin/cli/backup/quiet-server.ts';
import type { AdminClient } from '../../../../bin/cli/client/admin-client.ts';
import type { ReportedPause } from '../../../../bin/cli/client/admin-reports.ts';
import { ApiError } from '../../../../bin/cli/command.ts';
import type { PausePlace } from '../../../../engine/ports/pauses.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const signal = new AbortController().signal;
const LANES = ['hardDelete', 'install', 'sharing', 'softDelete', 'updateMeta'];
const REASON = 'longshore backup';

/** A server with lanes that pause at once, in the memory of the test. */
function setup(_: Test) {
  const clock = new VirtualClock();
  const pauses = new Map<string, ReportedPause>();
  const running: Record<string, number> = {};
  const state = { held: false, holdsLong: true, refuses: false };
  const inForce = (): readonly ReportedPause[] =>
    [...pauses.values()].filter(({ until }) => until === undefined || Date.parse(until) > clock.now());
  const client = {
    pauses: async () => inForce(),
    async pause({ name }: PausePlace, order: object) {
      const pause = { kind: 'lane', name, since: '2026', by: 'Admin-Token', ...order } as const;
      pauses.set(name, pause);
      return pause;
    },
    async resume({ name }: PausePlace) {
      pauses.delete(name);
    },
    pausedLanes: async () => inForce().map(({ name }) => name),
    jobs: async () => ({
      meta: { count: 0, offset: 0, limit: 1, total: 0 },
      lanes: LANES.map((lane) => ({ lane, running: running[lane] ?? 0 })),
      results: Object.keys(running).map((lane, n) => ({ id: n + 1, lane, datasetId: `D${n}`, state: 'running' })),
    }),
    async holdStore() {
      if (state.refuses) throw new ApiError(503, 'no');
      state.held = true;
    },
    async releaseStore() {
      const held = state.held && state.holdsLong;
      state.held = false;
      return { held };
    },
  } as unknown as AdminClient;
  const paused = (): readonly string[] =>
    inForce()
      .map(({ name }) => name)
      .toSorted();
  return { clock, client, pauses, running, state, paused };
}

/** Lets virtual time pass until the promise settles. */
async function passing<Result>(clock: VirtualClock, promise: Promise<Result>): Promise<Result> {
  let over = false;
  void promise.then(
    () => (over = true),
    () => (over = true),
  );
  while (!over) await clock.advance(100);
  return promise;
}

t.test('lanes are paused until it ends, and their pauses are renewed', async (t) => {
  const { clock, client, paused, state } = setup(t);
  const quiet = await passing(clock, QuietServer.quiet(client, 60_000, clock, signal));
  t.strictSame(paused(), LANES);
  await quiet.hold(signal);
  t.equal(state.held, true);
  await quiet.release(signal);
  await clock.advance(120_000);
  t.strictSame(paused(), LANES, 'two minutes later, too');
  await quiet.end(signal);
  t.strictSame(paused(), []);
  await clock.advance(60_000);
  t.strictSame(paused(), [], 'and not again');
});

t.test('the pauses of a backup that died end by themselves', async (t) => {
  const { clock, client, pauses, paused } = setup(t);
  const quiet = await passing(clock, QuietServer.quiet(client, 60_000, clock, signal));
  const last = Math.max(...[...pauses.values()].map(({ until = '' }) => Date.parse(until)));
  t.ok(last - clock.now() <= 20_000);
  await quiet[Symbol.asyncDispose]();
  t.strictSame(paused(), []);
});

t.test('what an operator has paused stays paused', async (t) => {
  const { clock, client, pauses, paused } = setup(t);
  const mine = { kind: 'lane', name: 'install', since: '2026', by: 'user 4', reason: 'new disks' } as const;
  pauses.set('install', mine);
  pauses.set('sharing', {
    ...mine,
    name: 'sharing',
    reason: REASON,
    until: new Date(clock.now() + 1_000).toISOString(),
  });
  const quiet = await passing(clock, QuietServer.quiet(client, 60_000, clock, signal));
  await quiet.end(signal);
  t.strictSame(paused(), ['install']);
  t.strictSame(pauses.get('install'), mine);
});

t.test('it waits for jobs that run, so long and no longer, and names them', async (t) => {
  const { clock, client, running, paused } = setup(t);
  running.install = 2;
  const waiting = QuietServer.quiet(client, 60_000, clock, signal);
  await clock.advance(5_000);
  t.strictSame(paused(), LANES);
  delete running.install;
  await (await passing(clock, waiting)).end(signal);

  running.softDelete = 1;
  const message = 'no backup was made: after 60 s these jobs still run: 1 (softDelete, dataset D0)';
  await t.rejects(passing(clock, QuietServer.quiet(client, 60_000, clock, signal)), { kind: 'transient', message });
  t.strictSame(paused(), [], 'and everything goes on');
});

t.test('a hold that did not last, or that was refused, makes no backup', async (t) => {
  const { clock, client, state, paused } = setup(t);
  const quiet = await passing(clock, QuietServer.quiet(client, 60_000, clock, signal));
  state.holdsLong = false;
  await quiet.hold(signal);
  await t.rejects(quiet.release(signal), { message: /took longer than 15 s/ });
  state.refuses = true;
  await t.rejects(quiet.hold(signal), { message: /cannot be held/ });
  await quiet[Symbol.asyncDispose]();
  t.strictSame(paused(), []);
});

t.test('a lane that somebody resumes meanwhile makes no backup', async (t) => {
  const { clock, client, pauses } = setup(t);
  const quiet = await passing(clock, QuietServer.quiet(client, 60_000, clock, signal));
  pauses.delete('install');
  await t.rejects(quiet.end(signal), { message: /somebody has resumed a lane/ });
  await quiet[Symbol.asyncDispose]();
});
