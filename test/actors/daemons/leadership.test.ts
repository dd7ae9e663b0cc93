import t, { type Test } from 'tap';
import { DaemonLeaders } from '../../../actors/daemons/leadership.ts';
import { Pump } from '../../../actors/events/event-router.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { Timer } from '../../../engine/runtime/timer.ts';
import { FakeLeases, LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { aliveAfter, Forgetful } from '../../support/live-objects.ts';

const never = new AbortController().signal;
const log = silentLogger();

function setup() {
  const clock = new VirtualClock(0);
  const table = new LeaseTable(clock);
  const process = (id: number) => {
    const leases = new FakeLeases(table, id);
    return { id, leases, leads: new DaemonLeaders(leases, clock, log), metrics: new Metrics() };
  };
  return { clock, table, process };
}

/** A process that runs the router while it leads; `seen` gets what it did. */
async function router(t: Test, { clock, process }: ReturnType<typeof setup>, id: number, seen: string[]) {
  const own = process(id);
  const consume = own.leads.whileLeading('eventRouter', own.metrics, async (signal) => {
    seen.push(`${id} begins ${clock.now() / 1000}`);
    await clock.sleep(1e9, signal).catch(() => undefined);
    seen.push(`${id} ends ${clock.now() / 1000}`);
  });
  const pump = new Pump({ name: 'eventRouter', clock, log, consume });
  t.teardown(() => pump.kill());
  await pump.start(never);
  await clock.settle();
  const leader = async (): Promise<string | undefined> =>
    /^longshore_daemon_leader\{daemon="eventRouter"\} (\d)$/m.exec(await own.metrics.text())?.[1];
  return { ...own, pump, leader };
}

t.test('a lead is kept for as long as it is held, and nobody else gets it', async (t) => {
  const { clock, table, process } = setup();
  const [first, second] = [process(1), process(2)];
  const lead = await first.leads.take('pruner', never);
  await clock.advance(600_000);
  t.strictSame([table.held(), lead?.lost.aborted], [['daemon:pruner'], false]);
  t.equal(await second.leads.take('pruner', never), undefined);
  t.equal(await first.leads.take('pruner', never), undefined, 'nor the same process twice');
  await lead?.[Symbol.asyncDispose]();
  await lead?.[Symbol.asyncDispose]();
  t.strictSame(table.held(), []);
  t.equal(clock.pending, 0, 'nothing is left behind');
});

t.test('a lead that was taken over is lost at the next renewal', async (t) => {
  const { clock, table, process } = setup();
  const first = process(1);
  await using lead = await first.leads.take('pruner', never);
  table.release({ name: 'daemon:pruner', token: 1 }, 1);
  await using other = await process(2).leads.take('pruner', never);
  await clock.advance(10_000);
  t.match(lead?.lost.reason, { kind: 'aborted', message: 'leadership of daemon:pruner lost: taken over' });
  t.equal(other?.lost.aborted, false);
});

t.test('after a gap a lead is renewed at once, and found lost if it is', async (t) => {
  const { clock, table, process } = setup();
  const first = process(1);
  await using lead = await first.leads.take('pruner', never);
  table.release({ name: 'daemon:pruner', token: 1 }, 1);
  table.take('daemon:pruner', 2);
  first.leads.renewSoon();
  await clock.settle();
  t.equal(lead?.lost.aborted, true);
});

t.test('a lead that cannot be renewed for 25 s is lost, before its lease runs out', async (t) => {
  const { clock, table, process } = setup();
  const first = process(1);
  await using lead = await first.leads.take('pruner', never);
  first.leases.renew = async () => {
    throw transient('the cache database is away');
  };
  await clock.advance(24_999);
  t.equal(lead?.lost.aborted, false);
  await clock.advance(1);
  t.match(lead?.lost.reason, {
    kind: 'aborted',
    message: 'leadership of daemon:pruner lost: not renewed within the deadline',
  });
  t.strictSame(table.held(), ['daemon:pruner'], 'nobody else could have it yet');
});

t.test('a renewal without an answer is one that failed', async (t) => {
  const { clock, process } = setup();
  const first = process(1);
  await using lead = await first.leads.take('pruner', never);
  first.leases.renew = () => new Promise(() => {});
  await clock.advance(25_000);
  t.match(lead?.lost.reason, { message: 'leadership of daemon:pruner lost: not renewed within the deadline' });
});

t.test('a short failure costs nobody the lead', async (t) => {
  const { clock, process } = setup();
  const first = process(1);
  await using lead = await first.leads.take('pruner', never);
  const renew = first.leases.renew.bind(first.leases);
  let failures = 0;
  first.leases.renew = async (...wanted) => {
    if (failures++ < 4) throw transient('the cache database is away');
    return renew(...wanted);
  };
  await clock.advance(100_000);
  t.strictSame([lead?.lost.aborted, failures], [false, 13]);
});

t.test('giving up a lead ends in time when nobody answers', async (t) => {
  const { clock, process } = setup();
  const first = process(1);
  const lead = await first.leads.take('pruner', never);
  first.leases.release = () => new Promise(() => {});
  const given = lead?.[Symbol.asyncDispose]();
  await clock.advance(5_000);
  await given;
  t.equal(clock.pending, 0);
});

t.test('who asks for a lead without an answer hears so', async (t) => {
  const { clock, process } = setup();
  const first = process(1);
  first.leases.acquire = () => new Promise(() => {});
  const asked = t.rejects(first.leads.take('pruner', never), {
    kind: 'transient',
    message: 'lease daemon:pruner: no response within the deadline',
  });
  await clock.advance(5_000);
  await asked;
});

t.test('one of several processes runs the router; when it ends another takes over within seconds', async (t) => {
  const world = setup();
  const seen: string[] = [];
  const first = await router(t, world, 1, seen);
  const second = await router(t, world, 2, seen);
  await world.clock.advance(60_000);
  t.strictSame(seen, ['1 begins 0']);
  t.strictSame([await first.leader(), await second.leader()], ['1', '0']);
  await world.clock.advance(1_000);
  await first.pump.stop(world.clock.now() + 10_000);
  await world.clock.advance(5_000);
  t.strictSame(seen, ['1 begins 0', '1 ends 61', '2 begins 65']);
  t.strictSame([await first.leader(), await second.leader()], ['0', '1']);
});

t.test('the lead of a process that died is free at once', async (t) => {
  const world = setup();
  const seen: string[] = [];
  await router(t, world, 1, seen);
  const second = await router(t, world, 2, seen);
  await world.clock.advance(6_000);
  world.table.kill(1);
  await world.clock.advance(4_000);
  t.strictSame(seen.slice(0, 2), ['1 begins 0', '2 begins 10']);
  t.equal(await second.leader(), '1');
});

t.test('a router that lost its lead ends, and waits until it can lead again', async (t) => {
  const world = setup();
  const seen: string[] = [];
  const first = await router(t, world, 1, seen);
  world.table.release({ name: 'daemon:eventRouter', token: 1 }, 1);
  const other = world.table.take('daemon:eventRouter', 2);
  await world.clock.advance(10_000);
  t.strictSame([seen, await first.leader()], [['1 begins 0', '1 ends 10'], '0']);
  if (other) world.table.release(other, 2);
  await world.clock.advance(5_000);
  t.strictSame([seen, await first.leader()], [['1 begins 0', '1 ends 10', '1 begins 15'], '1']);
});

t.test('a router that breaks while it leads gives up the lead and says so', async (t) => {
  const { clock, table, process } = setup();
  const { leads, metrics } = process(1);
  const run = leads.whileLeading('eventRouter', metrics, async () => {
    throw transient('the queue is away');
  });
  await t.rejects(run(never), { kind: 'transient', message: 'the queue is away' });
  t.strictSame([table.held(), clock.pending], [[], 0]);
});

t.test('of leads that were given up nothing is kept, however often one is taken', async (t) => {
  const { leads } = setup().process(1);
  const never = new AbortController().signal;
  const kind = async () => {
    await using lead = await leads.take('pruner', never);
    return lead?.constructor as new () => object;
  };
  const takeOften = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await kind();
  };
  t.equal(await aliveAfter(takeOften, await kind()), 0);
});

t.test('what a router leaves listening to its signal goes with it', async (t) => {
  const { leads, metrics } = setup().process(1);
  const process = new AbortController();
  const run = leads.whileLeading('eventRouter', metrics, async (signal) => {
    Forgetful.listenTo(signal);
    throw transient('the queue is away');
  });
  const breakOften = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await t.rejects(run(process.signal), { message: 'the queue is away' });
  };
  t.equal(await aliveAfter(breakOften, Forgetful), 0);
  t.equal(process.signal.aborted, false, 'the process lives on');
});

t.test('a router waits while nobody can tell who leads', async (t) => {
  const world = setup();
  const own = world.process(1);
  const acquire = own.leases.acquire.bind(own.leases);
  own.leases.acquire = async () => {
    throw transient('the cache database is away');
  };
  let begun = 0;
  const stop = new AbortController();
  const running = own.leads.whileLeading('eventRouter', own.metrics, async (signal) => {
    begun++;
    await world.clock.sleep(1e9, signal).catch(() => undefined);
  })(stop.signal);
  await world.clock.advance(12_000);
  t.equal(begun, 0);
  own.leases.acquire = acquire;
  await world.clock.advance(5_000);
  t.equal(begun, 1);
  stop.abort();
  await running;
  t.strictSame(world.table.held(), []);
});

t.test('a timer runs in one process only, and elsewhere once that has died', async (t) => {
  const { clock, table, process } = setup();
  const runs: string[] = [];
  for (const id of [1, 2]) {
    const { leads, metrics } = process(id);
    const timer = new Timer<void>({
      ...{ name: 'pruner', clock, log, metrics, periodMs: 60_000, jitter: 0 },
      lead: (signal) => leads.take('pruner', signal),
      runOnce: async () => {
        runs.push(`${id} ${clock.now() / 1000}`);
      },
    });
    t.teardown(() => timer.kill());
    await timer.start(never);
  }
  await clock.advance(121_000);
  t.strictSame(runs, ['1 60', '1 120']);
  table.kill(1);
  await clock.advance(4_000);
  t.strictSame(runs, ['1 60', '1 120', '2 125']);
});
