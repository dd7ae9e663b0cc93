// Everything that lives by the contract of engine/runtime/actor.ts passes the same stress: its methods in any order and number,
// at any time, also before start.

import fc from 'fast-check';
import t from 'tap';
import { Lane } from '../../../engine/jobs/lane.ts';
import { Actor, type ActorOptions, type Child } from '../../../engine/runtime/actor.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { Supervisor } from '../../../engine/runtime/supervisor.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { Timer } from '../../../engine/runtime/timer.ts';
import { WorkerPool } from '../../../engine/threads/worker-pool.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { aliveAfter, Forgetful } from '../../support/live-objects.ts';

const never = new AbortController().signal;
const log = silentLogger();

/** Opens slowly, runs to the very end. */
class Obstinate extends Actor {
  protected override async open(signal: AbortSignal): Promise<void> {
    await this.clock.sleep(50, signal);
  }
  protected override async work(): Promise<void> {
    await this.clock.sleep(1_000_000, this.ended).catch(() => {});
  }
}

/** Never ends. */
class Deaf extends Actor {
  protected override open(): Promise<void> {
    return new Promise(() => {});
  }
  protected override async work(): Promise<void> {}
}

/** Ends as soon as it is asked to. */
class Polite extends Actor {
  protected override async open(): Promise<void> {}
  protected override async work(): Promise<void> {
    await this.clock.sleep(1_000_000, this.draining).catch(() => {});
  }
}

const base = (clock: Clock): ActorOptions & { readonly metrics: Metrics } => ({
  name: 'it',
  clock,
  log,
  metrics: new Metrics(),
});

function busyLane(clock: Clock): Child {
  let id = 0;
  return new Lane<{ id: number }, { kind: string }>({
    ...base(clock),
    queueSize: 3,
    workerCount: 2,
    pollMs: 500,
    source: {
      completeAndFetch: async (_done, limit, signal) => {
        await clock.sleep(20, signal);
        return Array.from({ length: Math.min(limit, 2) }, () => ({ id: ++id }));
      },
      watch: () => () => {},
    },
    run: async (_job, signal) => {
      await clock.sleep(300, signal);
      return { kind: 'done' };
    },
    settle: () => ({ kind: 'failed' }),
    abandon: () => ({ kind: 'abandoned' }),
    idOf: (job) => job.id,
  });
}

function busyTimer(clock: Clock): Child {
  return new Timer({ ...base(clock), periodMs: 100, runOnce: (signal) => clock.sleep(300, signal) });
}

function tree(clock: Clock): Child {
  return new Supervisor({
    ...base(clock),
    children: [
      { name: 'obstinate', create: () => new Obstinate(base(clock)) },
      { name: 'lane', create: () => busyLane(clock) },
      { name: 'timer', create: () => busyTimer(clock) },
      { name: 'group', create: () => new Supervisor({ ...base(clock), children: [], stopTogether: true }) },
    ],
  });
}

function idlePool(clock: Clock): Child {
  const filename = new URL('../fixtures/task-thread.ts', import.meta.url);
  return new WorkerPool({ ...base(clock), filename, workerData: null, threads: 1, tasksPerThread: 1 });
}

const makers: Readonly<Record<string, (clock: Clock) => Child>> = {
  'an obstinate one': (clock) => new Obstinate(base(clock)),
  'a polite one': (clock) => new Polite(base(clock)),
  'a lane': busyLane,
  'a timer': busyTimer,
  'a worker pool': idlePool,
  'a supervisor': tree,
};

type Step = 'start' | 'quiet' | 'kill' | { readonly stopIn: number } | { readonly wait: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom<Step>('start', 'start', 'quiet', 'kill'),
  fc.record({ stopIn: fc.constantFrom(-5, 0, 30, 1000, 5000) }),
  fc.record({ wait: fc.constantFrom(0, 1, 40, 400) }),
);

/** What went against the contract; undefined when nothing did. */
async function play(make: (clock: Clock) => Child, steps: readonly Step[]): Promise<string | undefined> {
  const clock = new VirtualClock(0);
  const child = make(clock);
  const faults: string[] = [];
  const open = new Set<string>();
  let starts = 0;
  child.broken.catch((error: unknown) => faults.push(`broke: ${error}`));
  const track = (name: string, promise: Promise<void>, rejects: (error: unknown) => void): void => {
    open.add(name);
    void promise.catch(rejects).finally(() => open.delete(name));
  };
  const act = async (step: Step, i: number): Promise<void> => {
    if (step === 'start') {
      const again = starts++ > 0;
      const name = again ? 'second start' : 'start';
      track(`${name} ${i}`, child.start(never), (error) => {
        const kind = (error as { kind?: string }).kind;
        if (kind !== (again ? 'defect' : 'aborted')) faults.push(`${name}: ${error}`);
      });
    } else if (step === 'quiet' || step === 'kill') {
      child[step]();
    } else if ('wait' in step) {
      await clock.advance(step.wait);
    } else {
      const deadline = clock.now() + step.stopIn;
      track(`stop ${i} by ${deadline}`, child.stop(deadline), (error) => faults.push(`stop: ${error}`));
      clock.after(Math.max(0, step.stopIn) + 1, () => {
        if (open.has(`stop ${i} by ${deadline}`)) faults.push(`stop ${i} overran ${deadline}`);
      });
    }
  };
  for (const [i, each] of steps.entries()) await act(each, i);
  await act({ stopIn: 2000 }, steps.length);
  await clock.advance(10_000);
  for (const name of open) faults.push(`${name} never settled`);
  if (clock.pending > 0) faults.push(`${clock.pending} timers are left`);
  return faults.length > 0 ? faults.join('; ') : undefined;
}

for (const [name, make] of Object.entries(makers)) {
  t.test(`${name} may be started, quieted, stopped and killed in any order, any number of times`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        const fault = await play(make, steps);
        if (fault) throw new Error(fault);
      }),
      { numRuns: 100 },
    );
    t.pass('for any sequence');
  });
}

t.test('a stop waits for what runs, no longer than its deadline; the earliest of several counts', async (t) => {
  const clock = new VirtualClock(0);
  const child = new Obstinate(base(clock));
  const started = child.start(never);
  await clock.advance(50);
  await started;
  const stops = [child.stop(10_000), child.stop(3000), child.stop(20_000)];
  await clock.advance(2949);
  let stopped = false;
  void Promise.all(stops).then(() => {
    stopped = true;
  });
  await clock.settle();
  t.equal(stopped, false);
  await clock.advance(1);
  t.equal(stopped, true);
});

t.test('one that never gets ready is left behind at the deadline', async (t) => {
  const clock = new VirtualClock(0);
  const child = new Deaf(base(clock));
  void child.start(never);
  const stopped = child.stop(1000);
  await clock.advance(1000);
  await stopped;
  t.equal(clock.pending, 0);
});

t.test('one that cannot start says why, and is not broken', async (t) => {
  class Unable extends Polite {
    protected override async open(): Promise<void> {
      throw new Error('no such port');
    }
  }
  const clock = new VirtualClock(0);
  const child = new Unable(base(clock));
  await t.rejects(child.start(never), { message: 'no such port' });
  await child.stop(0);
});

t.test('one that fails or ends by itself is broken', async (t) => {
  class Failing extends Polite {
    protected override async work(): Promise<void> {
      await this.clock.sleep(10);
      throw new Error('connection lost');
    }
  }
  class Ending extends Polite {
    protected override async work(): Promise<void> {}
  }
  const clock = new VirtualClock(0);
  const failing = new Failing(base(clock));
  const ending = new Ending(base(clock));
  await failing.start(never);
  await ending.start(never);
  await clock.advance(10);
  await t.rejects(failing.broken, { message: 'connection lost' });
  await t.rejects(ending.broken, { kind: 'defect', message: /'it' ended although nobody had asked/ });
});

t.test('what is left listening to the signal of a start goes with the start', async (t) => {
  class Careless extends Actor {
    protected override async open(signal: AbortSignal): Promise<void> {
      Forgetful.listenTo(signal);
    }
    protected override async work(): Promise<void> {
      await this.clock.sleep(1_000_000, this.draining).catch(() => {});
    }
  }
  const clock = new VirtualClock(0);
  // As when a supervisor makes a child anew again and again.
  const supervisor = new AbortController();
  const child = new Careless(base(clock));
  t.equal(await aliveAfter(() => child.start(supervisor.signal), Forgetful), 0);
  t.equal(supervisor.signal.aborted, false, 'the supervisor lives on');
  await child.stop(clock.now());
});
