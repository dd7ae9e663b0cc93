import t, { type Test } from 'tap';
import { aborted, transient } from '../../../engine/runtime/failure.ts';
import { LiveSetting } from '../../../engine/runtime/live-setting.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { type Leadership, Timer, type TimerOptions } from '../../../engine/runtime/timer.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { aliveAfter, Forgetful } from '../../support/live-objects.ts';

const never = new AbortController().signal;

/** A lead that ends when the signal says so, and is given up at once. */
const leadUntil = (lost?: AbortSignal): Leadership => ({ ...(lost && { lost }), async [Symbol.asyncDispose]() {} });

async function setup(t: Test, options: Partial<TimerOptions<string>> = {}) {
  const clock = new VirtualClock(0);
  const metrics = new Metrics();
  const runs: number[] = [];
  const timer = new Timer<string>({
    name: 'pruner',
    clock,
    log: silentLogger(),
    metrics,
    periodMs: 60_000,
    jitter: 0,
    runOnce: async () => {
      runs.push(clock.now());
      return `run ${runs.length}`;
    },
    ...options,
  });
  t.teardown(() => timer.kill());
  await timer.start(never);
  return { clock, metrics, runs, timer };
}

t.test('runs every period', async (t) => {
  const { clock, runs } = await setup(t);
  await clock.advance(200_000);
  t.strictSame(runs, [60_000, 120_000, 180_000]);
});

t.test('the first run may come sooner, and the period varies by the jitter', async (t) => {
  const randoms = [0, 1, 0.5];
  const random = (): number => randoms.shift() ?? 0.5;
  const { clock, runs } = await setup(t, { firstMs: 5, jitter: 0.5, random });
  await clock.advance(200_000);
  t.strictSame(runs, [5, 30_005, 120_005, 180_005]);
});

t.test('a run that outlasts its period is not overlapped, and what was missed is left out', async (t) => {
  const begun: number[] = [];
  const { clock } = await setup(t, {
    runOnce: async (signal) => {
      begun.push(clock.now());
      await clock.sleep(150_000, signal);
      return 'slow';
    },
  });
  await clock.advance(500_000);
  t.strictSame(begun, [60_000, 270_000, 480_000]);
});

/** One that fails at its n-th run. */
const failingAt = (failing: number) => {
  let n = 0;
  return async (): Promise<string> => {
    if (++n === failing) throw transient('the store is away');
    return 'fine';
  };
};

t.test('a run that fails does not keep the next from coming', async (t) => {
  const { clock, metrics } = await setup(t, { runOnce: failingAt(1) });
  await clock.advance(120_000);
  const text = await metrics.text();
  for (const line of [
    'longshore_daemon_runs_total{daemon="pruner",result="failed"} 1',
    'longshore_daemon_runs_total{daemon="pruner",result="done"} 1',
    'longshore_daemon_run_seconds_count{daemon="pruner"} 2',
    'longshore_daemon_run_seconds_sum{daemon="pruner"} 0',
    'longshore_daemon_last_success_timestamp_seconds{daemon="pruner"} 120',
  ])
    t.match(text, line);
});

t.test('tells the end of its last run and of its last good one, and counts from zero', async (t) => {
  const { clock, metrics } = await setup(t, { runOnce: failingAt(2) });
  const told = async (): Promise<string[]> =>
    (await metrics.text()).match(/^longshore_daemon_(runs_total|last_\w+|leader){.*$/gm) ?? [];
  const runs = (done: number, failed: number): string[] => [
    `longshore_daemon_runs_total{daemon="pruner",result="done"} ${done}`,
    `longshore_daemon_runs_total{daemon="pruner",result="failed"} ${failed}`,
    'longshore_daemon_runs_total{daemon="pruner",result="aborted"} 0',
  ];
  const leads = 'longshore_daemon_leader{daemon="pruner"} 1';
  t.strictSame(await told(), [...runs(0, 0), leads]);
  await clock.advance(120_000);
  t.strictSame(await told(), [
    ...runs(1, 1),
    'longshore_daemon_last_run_timestamp_seconds{daemon="pruner"} 120',
    'longshore_daemon_last_success_timestamp_seconds{daemon="pruner"} 60',
    leads,
  ]);
});

t.test('a lead that is lost between two runs is not told of as ours', async (t) => {
  const lost = new AbortController();
  const { clock, metrics, timer } = await setup(t, {
    lead: async () => leadUntil(lost.signal),
  });
  const leads = async (): Promise<string> => /^longshore_daemon_leader.* (\d)$/m.exec(await metrics.text())?.[1] ?? '';
  t.equal(await leads(), '0', 'nobody has asked yet');
  await clock.advance(60_000);
  t.equal(await leads(), '1');
  lost.abort(aborted('the lease ran out'));
  t.equal(await leads(), '0');
  await timer.stop(clock.now());
  t.equal(await leads(), '0');
});

t.test('runNow runs at once and tells the result; the period starts over', async (t) => {
  const { clock, runs, timer } = await setup(t);
  await clock.advance(10_000);
  t.strictSame(await timer.runNow(never), { kind: 'done', result: 'run 1' });
  await clock.advance(60_000);
  t.strictSame(runs, [10_000, 70_000]);
});

t.test('an order may bring its own run, and hears of its failure', async (t) => {
  const { timer } = await setup(t);
  t.strictSame(await timer.runNow(never, async () => 'deletes allowed'), { kind: 'done', result: 'deletes allowed' });
  const failing = timer.runNow(never, () => Promise.reject(transient('the store is away')));
  await t.rejects(failing, { kind: 'transient', message: 'the store is away' });
});

t.test('one order waits for the run under way, a second is refused', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { clock, timer } = await setup(t, {
    runOnce: async () => {
      await gate.promise;
      return 'done';
    },
  });
  await clock.advance(60_000);
  const ordered = timer.runNow(never);
  await t.rejects(timer.runNow(never), { kind: 'transient', message: /order waiting/ });
  gate.resolve();
  t.strictSame(await ordered, { kind: 'done', result: 'done' });
});

t.test('only the leader runs, it keeps the lead, another takes over when it ends', async (t) => {
  const clock = new VirtualClock(0);
  let holder: string | undefined;
  const runs: string[] = [];
  const daemon = async (name: string) => {
    const lead = async (): Promise<Leadership | undefined> => {
      if (holder !== undefined) return undefined;
      holder = name;
      return {
        async [Symbol.asyncDispose]() {
          holder = undefined;
        },
      };
    };
    const runOnce = async (): Promise<string> => {
      runs.push(`${name} ${clock.now() / 1000}`);
      return name;
    };
    return (await setup(t, { clock, lead, runOnce })).timer;
  };
  const first = await daemon('first');
  const second = await daemon('second');
  await clock.advance(125_000);
  t.strictSame(runs, ['first 60', 'first 120']);
  t.strictSame(await second.runNow(never), { kind: 'not-leader' });
  await first.stop(clock.now());
  t.equal(holder, undefined);
  await clock.advance(5_000);
  t.strictSame(runs, ['first 60', 'first 120', 'second 130']);
});

t.test('a lost lead aborts the run', async (t) => {
  const lost = new AbortController();
  const seen: unknown[] = [];
  const { clock } = await setup(t, {
    lead: async () => leadUntil(lost.signal),
    runOnce: async (signal) => {
      await clock.sleep(1_000_000, signal).catch((error: unknown) => seen.push(error));
      return 'given up';
    },
  });
  await clock.advance(60_000);
  const reason = aborted('the lease ran out');
  lost.abort(reason);
  await clock.settle();
  t.strictSame(seen, [reason]);
});

t.test('a lost lead is given up before it is asked for again', async (t) => {
  const told: string[] = [];
  const lost = new AbortController();
  const givenUp = Promise.withResolvers<void>();
  const { clock } = await setup(t, {
    lead: async () => {
      told.push('asked for');
      return {
        lost: told.length === 1 ? lost.signal : never,
        async [Symbol.asyncDispose]() {
          told.push('being given up');
          await givenUp.promise;
          told.push('given up');
        },
      };
    },
  });
  await clock.advance(60_000);
  lost.abort(aborted('the lease ran out'));
  await clock.advance(60_000);
  t.strictSame(told, ['asked for', 'being given up']);
  givenUp.resolve();
  await clock.settle();
  t.strictSame(told, ['asked for', 'being given up', 'given up', 'asked for']);
});

t.test('it has ended when its lead is given up, not before', async (t) => {
  const told: string[] = [];
  const givenUp = Promise.withResolvers<void>();
  const { clock, timer } = await setup(t, {
    lead: async () => ({
      async [Symbol.asyncDispose]() {
        await givenUp.promise;
        told.push('given up');
      },
    }),
  });
  await clock.advance(60_000);
  const stopped = timer.stop(clock.now() + 10_000).then(() => told.push('ended'));
  await clock.settle();
  givenUp.resolve();
  await stopped;
  t.strictSame(told, ['given up', 'ended']);
});

t.test('what a run leaves listening to its signal goes with the run', async (t) => {
  const lost = new AbortController();
  let runs = 0;
  const { clock, timer } = await setup(t, {
    lead: async () => leadUntil(lost.signal),
    runOnce: async (signal) => {
      Forgetful.listenTo(signal);
      return `run ${++runs}`;
    },
  });
  t.equal(await aliveAfter(() => clock.advance(600_000), Forgetful), 0);
  t.strictSame([runs, lost.signal.aborted], [10, false], 'the lead is kept');
  t.strictSame(await timer.runNow(never), { kind: 'done', result: 'run 11' }, 'the timer lives on');
});

t.test('a lead that cannot be asked for is asked for again', async (t) => {
  let asked = 0;
  const { clock, runs } = await setup(t, {
    lead: async () => {
      asked++;
      if (asked < 3) throw transient('the database is away');
      return leadUntil();
    },
  });
  await clock.advance(120_000);
  t.strictSame(runs, [70_000]);
});

t.test('quiet lets the run end, refuses orders and begins no further run', async (t) => {
  const { clock, timer, runs } = await setup(t);
  timer.quiet();
  await t.rejects(timer.runNow(never), { kind: 'aborted', message: /'pruner' is ending/ });
  await clock.advance(200_000);
  t.strictSame(runs, []);
});

t.test('an order that was not begun hears of the end', async (t) => {
  const { clock, timer } = await setup(t, { runOnce: (signal) => clock.sleep(1_000_000, signal).then(() => 'slow') });
  await clock.advance(60_000);
  const told = t.rejects(timer.runNow(never), { kind: 'aborted', message: /ended before the run/ });
  const stopping = timer.stop(clock.now() + 10_000);
  await clock.advance(8000);
  await stopping;
  await told;
});

t.test('a new period counts from the start of the last run', async (t) => {
  const periodMs = new LiveSetting(60_000);
  const { clock, runs } = await setup(t, { periodMs });
  await clock.advance(70_000);
  periodMs.set(30_000);
  await clock.advance(60_000);
  periodMs.set(100_000);
  await clock.advance(150_000);
  t.strictSame(runs, [60_000, 90_000, 120_000, 220_000]);
});

t.test('a period that has been over for long when it is set ends at once', async (t) => {
  const periodMs = new LiveSetting(60_000);
  const { clock, runs } = await setup(t, { periodMs });
  await clock.advance(50_000);
  periodMs.set(20_000);
  await clock.advance(25_000);
  t.strictSame(runs, [50_000, 70_000]);
});

t.test('a new period does not put off a run that waits for the lead, nor the first one', async (t) => {
  let leads = false;
  const lead = async (): Promise<Leadership | undefined> => (leads ? leadUntil() : undefined);
  const periodMs = new LiveSetting(60_000);
  const { clock, runs } = await setup(t, { periodMs, lead, firstMs: 1_000 });
  periodMs.set(600_000);
  await clock.advance(2_000);
  periodMs.set(900_000);
  leads = true;
  await clock.advance(5_000);
  t.strictSame(runs, [6_000]);
});

t.test('a period that changes during a run holds for the next', async (t) => {
  const periodMs = new LiveSetting(60_000);
  const { clock, runs } = await setup(t, {
    periodMs,
    runOnce: async (signal) => {
      runs.push(clock.now());
      await clock.sleep(10_000, signal);
      return 'slow';
    },
  });
  await clock.advance(65_000);
  periodMs.set(20_000);
  await clock.advance(20_000);
  t.strictSame(runs, [60_000, 80_000]);
});
