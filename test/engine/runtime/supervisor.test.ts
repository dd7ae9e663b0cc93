import t, { type Test } from 'tap';
import type { Child, ChildSpec } from '../../../engine/runtime/actor.ts';
import { defect, rejected, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { Supervisor, type SupervisorOptions } from '../../../engine/runtime/supervisor.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const never = new AbortController().signal;

interface Script {
  /** What start does, by the number of the instance; default: ready at once. */
  readonly start?: (instance: number, signal: AbortSignal) => Promise<void>;
  /** How long a stop takes; Infinity: until killed. */
  readonly stopMs?: number;
}

function setup(t: Test, options: Partial<SupervisorOptions> = {}) {
  const clock = new VirtualClock(0);
  const history: string[] = [];
  const breakers = new Map<string, (error: Error) => void>();
  const note = (what: string): void => {
    history.push(clock.now() === 0 ? what : `${what} @${clock.now()}`);
  };
  const child = (name: string, script: Script = {}): ChildSpec => {
    let instances = 0;
    return { name, create: () => scripted(name, ++instances, script) };
  };
  const scripted = (name: string, instance: number, script: Script): Child => {
    const broken = Promise.withResolvers<never>();
    breakers.set(name, broken.reject);
    return {
      name,
      broken: broken.promise,
      async start(signal) {
        note(`start ${name}`);
        await script.start?.(instance, signal);
        note(`ready ${name}`);
      },
      quiet: () => note(`quiet ${name}`),
      async stop(deadline) {
        note(`stop ${name} by ${deadline}`);
        if (script.stopMs) await clock.sleep(Math.min(script.stopMs, deadline - clock.now()));
      },
      kill: () => note(`kill ${name}`),
    };
  };
  const supervisor = (...children: ChildSpec[]): Supervisor => {
    const tree = new Supervisor({
      name: 'tree',
      clock,
      log: silentLogger(),
      metrics: new Metrics(),
      children,
      restart: { restarts: 2, periodMs: 10_000, baseMs: 100, maxMs: 100 },
      ...options,
    });
    t.teardown(() => tree.kill());
    return tree;
  };
  const started = async (...children: ChildSpec[]): Promise<Supervisor> => {
    const tree = supervisor(...children);
    await tree.start(never);
    return tree;
  };
  const crash = async (name: string, error: Error = defect('a bug')): Promise<void> => {
    breakers.get(name)?.(error);
    await clock.settle();
  };
  return { clock, history, child, supervisor, started, crash };
}

t.test('starts in order, each ready before the next', async (t) => {
  const { clock, history, child, supervisor } = setup(t);
  const tree = supervisor(child('database', { start: () => clock.sleep(5) }), child('lanes'));
  const starting = tree.start(never);
  await clock.advance(5);
  await starting;
  t.strictSame(history, ['start database', 'ready database @5', 'start lanes @5', 'ready lanes @5']);
});

t.test('stops in reverse, all quiet first, time left for those below', async (t) => {
  const { clock, history, child, started } = setup(t);
  const tree = await started(child('database'), child('lanes', { stopMs: 60_000 }), child('http'));
  history.length = 0;
  const stopping = tree.stop(30_000);
  await clock.advance(30_000);
  await stopping;
  t.strictSame(history.slice(0, 3), ['quiet database', 'quiet lanes', 'quiet http']);
  t.strictSame(
    history.filter((line) => line.startsWith('stop')),
    ['stop http by 28000', 'stop lanes by 29000', 'stop database by 30000 @29000'],
  );
});

t.test('children that do not need each other stop together', async (t) => {
  const { clock, history, child, started } = setup(t, { stopTogether: true });
  const tree = await started(child('import', { stopMs: 100 }), child('install', { stopMs: 100 }));
  const stopping = tree.stop(30_000);
  await clock.advance(100);
  await stopping;
  t.strictSame(
    history.filter((line) => line.startsWith('stop')),
    ['stop install by 30000', 'stop import by 30000'],
  );
});

t.test('restarts the child that broke, and that one only', async (t) => {
  const { clock, history, child, started, crash } = setup(t);
  const tree = await started(child('a'), child('b'));
  history.length = 0;
  await crash('a');
  t.match(tree.statuses(), [
    { name: 'a', state: 'down', restarts: 0, failure: 'a bug' },
    { name: 'b', state: 'running', restarts: 0, failure: undefined },
  ]);
  await clock.advance(100);
  t.strictSame(history, ['stop a by 5000', 'kill a', 'start a @100', 'ready a @100']);
  t.strictSame(tree.statuses()[0], { name: 'a', state: 'running', restarts: 1, failure: 'a bug' });
});

t.test('breaks itself, all stopped, when children break too often', async (t) => {
  const { clock, history, child, started, crash } = setup(t);
  const tree = await started(child('a'), child('b'));
  const broken = t.rejects(tree.broken, { kind: 'defect', message: /'tree' gives up: .* 3 times in 10 s, last 'a'/ });
  for (const name of ['a', 'b', 'a']) {
    await crash(name);
    await clock.advance(100);
  }
  await broken;
  t.strictSame(history.slice(-4), ['stop b by 4200 @200', 'kill b @200', 'stop a by 5200 @200', 'kill a @200']);
  await clock.advance(60_000);
  t.notMatch(history.at(-1), /start/);
});

t.test('giving up quiets what still runs before it stops it, and restarts nothing that is down', async (t) => {
  const { clock, history, child, started, crash } = setup(t);
  const tree = await started(child('a'), child('b'), child('c'), child('d'));
  history.length = 0;
  const broken = t.rejects(tree.broken, { kind: 'defect', message: /3 times in 10 s, last 'c'/ });
  for (const name of ['a', 'b', 'c']) await crash(name);
  await clock.advance(60_000);
  await broken;
  const of = (what: string): readonly string[] => history.filter((line) => line.startsWith(what));
  t.strictSame(of('start'), []);
  t.ok(
    history.findIndex((line) => line.startsWith('quiet d')) < history.findIndex((line) => line.startsWith('stop d')),
  );
  t.ok(of('quiet d').length > 0);
});

t.test('breaks far apart are restarted for ever', async (t) => {
  const { clock, child, started, crash } = setup(t);
  const tree = await started(child('a'));
  for (let i = 0; i < 10; i++) {
    await crash('a');
    await clock.advance(10_000);
  }
  t.match(tree.statuses(), [{ state: 'running', restarts: 10 }]);
});

t.test('a dependency that is away is waited for, however long', async (t) => {
  const { clock, child, started, crash } = setup(t);
  const tree = await started(child('consumer'));
  for (let i = 0; i < 50; i++) {
    await crash('consumer', transient('broker is away'));
    await clock.advance(100);
  }
  t.match(tree.statuses(), [{ state: 'running', restarts: 50, failure: 'broker is away' }]);
});

t.test('a transient failure at the start is tried on while the others start', async (t) => {
  const { clock, history, child, started } = setup(t);
  const start = async (instance: number): Promise<void> => {
    if (instance < 4) throw transient('broker is away');
  };
  const tree = await started(child('consumer', { start }), child('http'));
  t.match(tree.statuses(), [{ state: 'down' }, { state: 'running' }]);
  await clock.advance(1000);
  t.match(tree.statuses(), [{ state: 'running', restarts: 3 }, { state: 'running' }]);
  t.equal(history.filter((line) => line.startsWith('start http')).length, 1);
});

t.test('any other failure at the start ends it, those started stopped', async (t) => {
  const { clock, history, child, supervisor } = setup(t);
  const start = (): Promise<void> => Promise.reject(rejected('port 80 is not allowed'));
  const tree = supervisor(child('a'), child('b', { start }), child('c'));
  await t.rejects(tree.start(never), { kind: 'rejected', message: 'port 80 is not allowed' });
  t.match(history.at(-1), 'kill a');
  await clock.advance(60_000);
  t.notOk(history.includes('start c'));
});

t.test('a restart that fails counts like a break', async (t) => {
  const { clock, child, started, crash } = setup(t);
  const start = async (instance: number): Promise<void> => {
    if (instance > 1) throw defect('still broken');
  };
  const tree = await started(child('a', { start }));
  const broken = t.rejects(tree.broken, { message: /3 times in 10 s, last 'a': still broken/ });
  await crash('a');
  await clock.advance(1000);
  await broken;
});

t.test('a stop during a start ends the start and stops what was started', async (t) => {
  const { clock, history, child, supervisor } = setup(t);
  const start = (_instance: number, signal: AbortSignal): Promise<void> => clock.sleep(1_000_000, signal);
  const tree = supervisor(child('a'), child('slow', { start }));
  const starting = t.rejects(tree.start(never), { kind: 'aborted', message: 'shutdown' });
  await clock.settle();
  await tree.stop(1000);
  await starting;
  t.ok(history.includes('kill a'));
});

t.test('nothing is restarted once it is quiet', async (t) => {
  const { clock, history, child, started, crash } = setup(t);
  const tree = await started(child('a'));
  await crash('a');
  tree.quiet();
  await clock.advance(60_000);
  t.equal(history.filter((line) => line.startsWith('start')).length, 1);
});

t.test('a child that never stops holds nobody up beyond the deadline', async (t) => {
  const { clock, history, child, started } = setup(t);
  const tree = await started(child('a'), child('hangs', { stopMs: Number.POSITIVE_INFINITY }));
  const stopping = tree.stop(10_000);
  await clock.advance(10_000);
  await stopping;
  t.ok(history.includes('kill hangs @9000'));
  t.ok(history.includes('stop a by 10000 @9000'));
});

t.test('kill reaches every child at once', async (t) => {
  const { history, child, started } = setup(t);
  const tree = await started(child('a', { stopMs: 60_000 }), child('b', { stopMs: 60_000 }));
  history.length = 0;
  tree.kill();
  t.strictSame(history, ['quiet a', 'quiet b', 'kill a', 'kill b']);
  await tree.stop(60_000);
});

t.test('supervisors nest: one that gives up is restarted by the one above', async (t) => {
  const { clock, child, supervisor, started, crash } = setup(t);
  const inner = (): Supervisor => supervisor(child('worker'));
  const tree = await started({ name: 'inner', create: inner });
  for (let i = 0; i < 3; i++) {
    await crash('worker');
    await clock.advance(100);
  }
  await clock.advance(100);
  t.match(tree.statuses(), [{ name: 'inner', state: 'running', restarts: 1 }]);
});

t.test('child names are checked before anything starts', async (t) => {
  const { child, supervisor } = setup(t);
  t.throws(() => supervisor(child('a'), child('a')), { kind: 'defect', message: /'a' is empty or not unique/ });
  t.throws(() => supervisor(child('')), { kind: 'defect', message: /'' is empty/ });
});
