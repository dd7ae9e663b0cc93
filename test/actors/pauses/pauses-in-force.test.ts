import { pino } from 'pino';
import t, { type Test } from 'tap';
import { PausesInForce } from '../../../actors/pauses/pauses-in-force.ts';
import type { PauseOrder, Pauses } from '../../../engine/ports/pauses.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { Supervisor } from '../../../engine/runtime/supervisor.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { FakePauses, PauseTable } from '../../fakes/fake-pauses.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const never = new AbortController().signal;
const NAMES = { lane: ['import', 'install'], plugin: ['genes'], target: ['AlphaDB'] };
const IMPORT: PauseOrder = { kind: 'lane', name: 'import', by: 'user 42', reason: undefined, until: undefined };

/** A process that has read the pauses and follows them; `port` may be replaced by one that fails. */
async function setup(t: Test, wrap: (port: Pauses) => Pauses = (port) => port) {
  const clock = new VirtualClock();
  const jobs = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const port = new FakePauses(new PauseTable(jobs));
  const metrics = new Metrics();
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const inForce = new PausesInForce(wrap(port), NAMES, { clock, log, metrics });
  t.teardown(() => inForce[Symbol.dispose]());
  const tree = new Supervisor({ name: 'tree', clock, log, metrics: new Metrics(), children: [inForce.spec()] });
  t.teardown(() => tree.kill());
  await tree.start(never);
  await clock.settle();
  const gauge = async (): Promise<readonly string[]> =>
    (await metrics.text()).split('\n').filter((line) => /^longshore_paused.* 1$/.test(line));
  const said = () => lines.map(({ msg, kind, name, by }) => ({ msg, kind, name, by }));
  let wakes = 0;
  t.teardown(inForce.watch(() => wakes++));
  return { clock, jobs, port, inForce, gauge, said, wakes: () => wakes };
}

t.test('a pause is in force as soon as it is announced, and is told once', async (t) => {
  const { clock, port, inForce, gauge, said, wakes } = await setup(t);
  t.same([inForce.all, await gauge()], [[], []]);
  const pause = await port.set(IMPORT, never);
  await clock.settle();
  t.same(inForce.find('lane', 'import'), pause);
  t.equal(inForce.find('plugin', 'import'), undefined);
  t.same(inForce.pausesOf('lane', ['install', 'import']), [pause]);
  t.same([inForce.pausesOf('lane', ['install']), inForce.pausesOf('plugin', ['import'])], [[], []]);
  t.same(await gauge(), ['longshore_paused{kind="lane",name="import"} 1']);
  await clock.advance(60_000);
  await port.end(IMPORT, never);
  await clock.settle();
  t.same([inForce.all, await gauge(), wakes()], [[], [], 1]);
  const about = { kind: 'lane', name: 'import', by: 'user 42' };
  t.same(said(), [
    { msg: 'paused', ...about },
    { msg: 'resumed', ...about },
  ]);
});

t.test('a process that starts knows the pauses before it does anything else', async (t) => {
  const clock = new VirtualClock();
  const jobs = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const port = new FakePauses(new PauseTable(jobs));
  const pause = await port.set(IMPORT, never);
  const inForce = new PausesInForce(port, NAMES, { clock, log: silentLogger(), metrics: new Metrics() });
  t.teardown(() => inForce[Symbol.dispose]());
  await inForce.refresh(never);
  t.same(inForce.all, [pause]);
});

t.test('a pause ends at its time, even if the database does not answer', async (t) => {
  let away = false;
  const { clock, port, inForce, gauge, wakes } = await setup(t, (real) => ({
    list: async (signal) => {
      if (away) throw transient('the database does not answer');
      return real.list(signal);
    },
    set: (...call) => real.set(...call),
    end: (...call) => real.end(...call),
    wait: (...call) => real.wait(...call),
    release: (...call) => real.release(...call),
    watch: (...call) => real.watch(...call),
  }));
  await port.set({ ...IMPORT, until: new Date(clock.now() + 30_000) }, never);
  await clock.settle();
  away = true;
  await clock.advance(29_999);
  t.same([inForce.all.length, wakes()], [1, 0], 'what was known last stays in force');
  await clock.advance(1);
  t.same([inForce.all, await gauge(), wakes()], [[], [], 1]);
});

t.test('when its time is over, what waited for it is due', async (t) => {
  const { clock, jobs, port } = await setup(t);
  const lane = new FakeJobs(jobs, 1);
  const target = { kind: 'target', name: 'AlphaDB' } as const;
  await port.set({ ...IMPORT, ...target, until: new Date(clock.now() + 30_000) }, never);
  const request = { lane: 'install', eventId: 1, source: 'api', dataset: 'd1', owner: '42' } as const;
  await lane.enqueue([request as never], never);
  const claim = { lane: 'install', limit: 1, crowdedTypes: [], blockedTypes: [] } as const;
  const [job] = await lane.completeAndFetch([], claim, never);
  if (!job) throw new Error('no job');
  await port.wait({ ...target, lane: 'install', dataset: job.dataset }, never);
  const outcome = { kind: 'retry', delayMs: 900_000, message: 'paused', countsAttempt: false } as const;
  await lane.completeAndFetch([{ job, outcome }], { ...claim, limit: 0 }, never);
  t.same((await lane.completeAndFetch([], claim, never)).length, 0);
  await clock.advance(30_000);
  t.same((await lane.completeAndFetch([], claim, never)).length, 1);
});
