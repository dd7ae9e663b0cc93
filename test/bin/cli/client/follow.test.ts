import t from 'tap';
import { follow } from '../../../../bin/cli/client/follow.ts';
import type { DatasetItem, DatasetStatus } from '../../../../bin/cli/client/installer-client.ts';
import { ApiError } from '../../../../bin/cli/command.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import type { Clock } from '../../../../engine/runtime/time.ts';
import { FakeTerminal } from '../../../fakes/fake-terminal.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const ID = 'AbCdEfGhIjKlMnOp';
const QUEUED: DatasetStatus = { upload: { status: 'success' }, import: { status: 'queued' } };
const installing = (data: string, messages: readonly string[] = []): DatasetStatus => ({
  upload: { status: 'success' },
  import: { status: 'complete', messages: ['two genes\u001b[2J are unknown'] },
  install: [{ installTarget: 'AlphaDB', data: { status: data, messages }, meta: { status: 'complete' } }],
});
const AWAY = transient('http://x: refused', { unreachable: true });

/** A server that answers in turn, the last answer for ever, and an io that remembers. */
function setup(answers: readonly (DatasetStatus | Error)[], errTerminal?: FakeTerminal) {
  const clock = new VirtualClock();
  let at = 0;
  const client = {
    async show() {
      const answer = answers[Math.min(at++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return { datasetId: ID, status: answer, installTargets: ['AlphaDB'] } as unknown as DatasetItem &
        Record<string, unknown>;
    },
  };
  const said = { out: '', err: '' };
  const say = (where: 'out' | 'err') => (text: string) => {
    said[where] += text;
  };
  const io = { out: say('out'), err: say('err'), errTerminal };
  return { clock, client, io, said };
}

/** Lets time pass until the promise has settled. */
async function inTime<Result>(promise: Promise<Result>, clock: VirtualClock): Promise<Result> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([settled, clock.advanceToNext().then(() => false)])));
  return promise;
}
const signal = new AbortController().signal;
const run = (world: ReturnType<typeof setup>, values: Parameters<typeof follow>[2] = {}) =>
  inTime(follow(world.client, ID, values, world.io, world.clock as Clock, signal), world.clock);

t.test('a line per change where there is no terminal', async (t) => {
  const world = setup([QUEUED, QUEUED, installing('running'), installing('complete')]);
  t.equal(await run(world), 'installed');
  t.strictSame(world.said, {
    out: '',
    err:
      '1/4 import queued\n' +
      '3/4 install AlphaDB data running, AlphaDB meta complete\n' +
      '4/4 install AlphaDB data complete, AlphaDB meta complete\n',
  });
});

t.test('a JSON document per change for machines, the ending in the last', async (t) => {
  const world = setup([QUEUED, AWAY, AWAY, installing('failed-validation', ['wrong'])]);
  t.equal(await run(world, { json: true }), 'failed');
  t.equal(world.said.err, '');
  const lines = world.said.out.trimEnd().split('\n');
  const begun = { upload: ['success', []], data: ['waiting', []], meta: ['waiting', []] } as const;
  const steps = (statuses: Readonly<Record<string, readonly [status: string, messages: readonly string[]]>>) =>
    ['upload', 'import', 'data', 'meta'].map((step) => {
      const [status, messages] = statuses[step] ?? [];
      return { step, ...(/data|meta/.test(step) ? { installTarget: 'AlphaDB' } : {}), status, messages };
    });
  t.strictSame(
    lines.map((line) => JSON.parse(line) as unknown),
    [
      { datasetId: ID, of: 4, done: 1, steps: steps({ ...begun, import: ['queued', []] }) },
      { datasetId: ID, unreachable: 'http://x: refused' },
      {
        ...{ datasetId: ID, of: 4, done: 3, ending: 'failed' },
        steps: steps({
          ...{ ...begun, import: ['complete', ['two genes\u001b[2J are unknown']] },
          ...{ data: ['failed-validation', ['wrong']], meta: ['complete', []] },
        }),
      },
    ],
  );
});

t.test('steps are redrawn in place on a terminal, and what went wrong is told whole', async (t) => {
  const terminal = new FakeTerminal(60);
  const world = setup([QUEUED, installing('running'), installing('failed-installation', ['no\ndisk'])], terminal);
  t.equal(await run(world), 'failed');
  t.strictSame(terminal.shown(), [
    'upload        success',
    'import        complete             two genes are unknown',
    'AlphaDB data  failed-installation  no disk',
    'AlphaDB meta  complete',
    '[##################......] 3/4  failed after 0 s',
    '',
  ]);
  t.equal(world.said.err, 'import: two genes are unknown\nAlphaDB data: no disk\n');
});

t.test('nothing is said when nobody wants to hear it', async (t) => {
  const world = setup([QUEUED, installing('complete')], new FakeTerminal(60));
  t.equal(await run(world, { quiet: true }), 'installed');
  t.strictSame([world.said, world.io.errTerminal?.written], [{ out: '', err: '' }, []]);
});

t.test('a server that is started anew is waited for, 30 s', async (t) => {
  const world = setup([QUEUED, AWAY, AWAY, AWAY, installing('complete')]);
  t.equal(await run(world), 'installed');
  t.match(world.said.err, /^1\/4 import queued\nno response, retrying: http:\/\/x: refused\n4\/4/);
  const gone = setup([QUEUED, AWAY]);
  const begun = gone.clock.now();
  await t.rejects(run(gone), { unreachable: true, message: /refused/ });
  const waited = gone.clock.now() - begun;
  t.ok(waited > 30_000 && waited < 33_000, `${waited} ms`);
});

t.test('a server that was asked too often is asked again when it says', async (t) => {
  const early = new ApiError(429, 'too many requests from you', 20_000);
  const world = setup([QUEUED, early, installing('complete')]);
  const begun = world.clock.now();
  t.equal(await run(world), 'installed');
  t.ok(world.clock.now() - begun >= 20_000);
  t.match(world.said.err, /^1\/4 import queued\n4\/4/, 'the person did nothing wrong');
});

t.test('a server that never answered is not waited for, nor one that refuses', async (t) => {
  const away = setup([AWAY]);
  await t.rejects(run(away), { unreachable: true, message: /refused/ });
  t.equal(away.clock.now(), new VirtualClock().now());
  await t.rejects(run(setup([QUEUED, new Error('404')])), { message: '404' });
});

t.test('the deadline ends it, and leaves the lines as they stand', async (t) => {
  const terminal = new FakeTerminal(60);
  const world = setup([QUEUED], terminal);
  const begun = world.clock.now();
  await t.rejects(run(world, { deadline: '90s' }), {
    kind: 'transient',
    unreachable: false,
    message: `${ID}: not finished within 90s`,
  });
  t.equal(world.clock.now() - begun, 90_000);
  t.equal(terminal.shown().at(-1), '');
  t.match(terminal.shown().at(-2), '1/4  1 m 29 s');
  await t.rejects(run(setup([QUEUED]), { deadline: 'soon' }), {
    message: /^--deadline 'soon': must be a duration such as/,
  });
});
