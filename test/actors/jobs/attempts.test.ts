import t, { type Test } from 'tap';
import { Attempts } from '../../../actors/jobs/attempts.ts';
import type { JobHandler } from '../../../actors/jobs/job-handler.ts';
import { type LaneTuning, runJob } from '../../../actors/jobs/job-lane.ts';
import { Paused } from '../../../actors/pauses/paused-work.ts';
import type { TaskRunner } from '../../../actors/tasks/task-map.ts';
import type { ClaimedJob, JobOutcome, RecordedOutcome } from '../../../engine/ports/jobs.ts';
import { aborted, Cancelled, defect, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const never = new AbortController().signal;
const JOB = {
  ...{ id: 7, lane: 'import', dataset: 'set', owner: '42', eventId: 1, source: 'api', attempts: 2, crashes: 0 },
  ...{ alone: false, type: 'genes:1.0', lease: { name: 'set', token: 1 }, waitedMs: 0 },
} as unknown as ClaimedJob;
const TUNING: LaneTuning = {
  inMemoryQueueSize: 2,
  workerCount: 2,
  retry: { attempts: 3, baseMs: 1_000, maxMs: 8_000 },
};
const INSTALL = { plugin: 'genes', eventId: 1, dataset: 'set', target: 'AlphaDB' };

/** Runs one attempt; `reply` is what each plugin call returns, after 5 ms. */
async function attempt(
  run: (tasks: TaskRunner, signal: AbortSignal) => Promise<JobOutcome>,
  reply: () => unknown = () => ({}),
) {
  const clock = new VirtualClock();
  const attempts = new Attempts(clock);
  const plugin = {
    run: async () => {
      await clock.advance(5);
      return reply();
    },
  } as unknown as TaskRunner;
  const tasks = attempts.recording(plugin);
  const stop = new AbortController();
  const handler: JobHandler = {
    lane: 'import',
    run: (_job, signal) => run(tasks, signal),
    report: async () => {},
  };
  const tools = { handler, attempts, tuning: TUNING, clock, log: silentLogger(), random: () => 0 };
  const ended = await runJob(JOB, tools, stop.signal);
  return ended.record;
}

const ends = (t: Test, name: string, outcome: () => JobOutcome, expected: RecordedOutcome['record'] | undefined) =>
  t.test(name, async (t) => t.strictSame(await attempt(async () => outcome()), expected));

ends(t, 'a job that found nothing to do leaves nothing', () => ({ kind: 'done' }), undefined);
ends(
  t,
  'one that did not even try leaves nothing',
  () => ({ kind: 'retry', delayMs: 5, message: 'later', countsAttempt: false, idle: true }),
  undefined,
);
ends(t, 'one that did something says what', () => ({ kind: 'done', did: 'dataset removed' }), {
  ...{ outcome: 'done', attempt: 3, ms: 0, message: 'dataset removed' },
});
ends(t, 'a failure and its reason', () => ({ kind: 'failed', message: 'exit code 7', exitCode: 7, output: 'x' }), {
  ...{ outcome: 'failed', attempt: 3, ms: 0, message: 'exit code 7' },
});
for (const [name, error, expected] of [
  ['a retry', transient('busy'), { outcome: 'dead', message: 'busy' }],
  ['a wait', transient('away', { unreachable: true }), { outcome: 'retry', message: /away/ }],
  ['a defect', defect('a bug'), { outcome: 'dead', message: 'a bug' }],
  ['a shutdown', aborted('the process stops'), { outcome: 'returned', message: 'the process stops' }],
  ['a crash', Object.assign(aborted('thread died'), { crashed: true }), { outcome: 'crashed', message: 'thread died' }],
  [
    'an order to end',
    new Cancelled('cancelled by user 7', false),
    { outcome: 'cancelled', message: 'cancelled by user 7' },
  ],
  [
    'a pause',
    new Paused({
      kind: 'target',
      name: 'AlphaDB',
      by: 'user 7',
      since: new Date(0),
      reason: undefined,
      until: undefined,
    }),
    { outcome: 'paused', message: /AlphaDB: paused by user 7/ },
  ],
] as const)
  t.test(`${name} is told as what it is`, async (t) => {
    t.match(await attempt(() => Promise.reject(error)), { attempt: 3, ...expected });
  });

t.test('the plugin calls of an attempt are told with what scripts said, in the order of their ends', async (t) => {
  const replies: (() => unknown)[] = [
    () => ({ kind: 'success', validation: { basic: ['20 genes'], community: ['one unknown'] } }),
    () => ({ kind: 'script-error', message: 'exit code 7', exitCode: 7, output: 'no genome' }),
    () => ({ kind: 'missing-dependency', messages: ['genome 3'] }),
    () => Promise.reject(transient('refused')),
    () => ({ kind: 'success' }),
  ];
  const record = await attempt(
    async (tasks) => {
      const options = { signal: never, alone: false, owner: JOB.owner };
      await tasks.run('import-dataset', { plugin: 'genes', dataset: 'set' } as never, options);
      for (const call of ['install-data', 'install-meta'] as const) await tasks.run(call, INSTALL as never, options);
      await t.rejects(tasks.run('uninstall', INSTALL as never, options), { message: 'refused' });
      await tasks.run('install-data', { ...INSTALL, dataset: 'another' } as never, options);
      return { kind: 'done' };
    },
    () => replies.shift()?.(),
  );
  const about = { plugin: 'genes', target: 'AlphaDB', ms: 5 };
  t.strictSame(record, {
    ...{ outcome: 'done', attempt: 3, ms: 25 },
    calls: [
      { call: 'import-dataset', plugin: 'genes', ms: 5, outcome: 'success', message: '20 genes\none unknown' },
      {
        ...about,
        call: 'install-data',
        outcome: 'script-error',
        message: 'exit code 7',
        exitCode: 7,
        output: 'no genome',
      },
      { ...about, call: 'install-meta', outcome: 'missing-dependency', message: 'genome 3' },
      { ...about, call: 'uninstall', outcome: 'error', message: 'refused' },
    ],
  });
});

t.test('texts are bounded, and say how much is left out', async (t) => {
  const reply = { kind: 'script-error', message: 'é'.repeat(5_000), exitCode: 1, output: `${'x'.repeat(20_000)}end` };
  const record = await attempt(
    async (tasks) => {
      const options = { signal: never, alone: false, owner: JOB.owner };
      for (let i = 0; i < 150; i++) await tasks.run('install-data', INSTALL as never, options);
      return { kind: 'failed', message: 'm'.repeat(100_000) };
    },
    () => reply,
  );
  t.match(record?.message, /^m{2016}… \(97984 bytes left out\)$/);
  t.equal(record?.calls?.length, 100);
  t.match(record?.calls?.[0], {
    message: /^é+… \(7984 bytes left out\)$/,
    output: /^\(11843 bytes left out\) …x+end$/,
  });
  t.match(record?.calls?.[99], { message: /^… \(\d+ bytes left out\)$/, output: '(20003 bytes left out) …' });
  t.ok(Buffer.byteLength(JSON.stringify(record)) < 40 * 1_024);
});
