// What the service says of its jobs and of itself.

import { rm } from 'node:fs/promises';
import t from 'tap';
import { fetch } from 'undici';
import { expireJobs } from '../../../actors/handler/expiry.ts';
import { handlerResultKey } from '../../../engine/model/handler-job.ts';
import { parseDuration } from '../../../engine/runtime/duration.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { durationText } from '../../../http/handler/documents.ts';
import { FakeHandlerJobs } from '../../fakes/fake-handler-jobs.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { COPY, handlerApp, metadata, sh } from '../../http/handler/handler-app.ts';

const signal = new AbortController().signal;
const HOUR = 3_600_000;

type App = Awaited<ReturnType<typeof handlerApp>>;
const expiring = ({ jobs, store, statistics }: App, clock: VirtualClock) => ({
  ...{ jobs, store, statistics, historyRetentionMs: HOUR, clock, log: silentLogger() },
});
const health = async ({ url }: { readonly url: string }): Promise<Record<string, unknown>> => {
  const response = await fetch(`${url}/health`);
  return { code: response.status, ...((await response.json()) as Record<string, unknown>) };
};

t.test('404 for the status or the result of a job that nobody knows', async (t) => {
  const app = await handlerApp(t);
  for (const tail of ['/status', '/result']) {
    const response = await fetch(app.jobUrl('no one', tail));
    t.equal(response.status, 404);
    t.strictSame(await response.json(), { status: 'not-found', message: "there is no job 'no one'" });
  }
  const refused = await fetch(app.jobUrl('no one'), { method: 'DELETE' });
  t.equal(refused.status, 405);
});

t.test('the status of a job that has ended says when it began and how long it took', async (t) => {
  const app = await handlerApp(t);
  const archive = await zipOf({ 'a.txt': 'a' });
  await (await app.job('done', archive, metadata({ projects: ['BetaDB'] }))).arrayBuffer();
  const { started, duration, ...rest } = await app.status('done');
  t.strictSame(rest, {
    userId: 42,
    jobId: 'done',
    status: 'job completed',
    projects: ['BetaDB'],
    size: archive.length,
  });
  t.match(started, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.ok((parseDuration(String(duration)) ?? 0) > 0, String(duration));
  t.equal((await app.status('done')).duration, duration, 'it stands still');
});

t.test('durations print like 1m 2.345s and can be read back', async (t) => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0s'],
    [0.4, '0s'],
    [1, '0.001s'],
    [999, '0.999s'],
    [1_000, '1s'],
    [62_345, '1m 2.345s'],
    [60_000, '1m'],
    [3_600_000, '1h'],
    [90_061_001, '1d 1h 1m 1.001s'],
  ];
  for (const [ms, text] of cases) {
    t.equal(durationText(ms), text);
    t.equal(parseDuration(text), Math.trunc(ms));
  }
});

t.test('/config tells the options', async (t) => {
  const app = await handlerApp(t, { commands: [COPY, sh('true')] });
  const response = await fetch(`${app.url}/config`);
  t.equal(response.status, 200);
  t.strictSame(await response.json(), {
    serviceName: 'test-handler',
    port: 8081,
    configPath: '/etc/handler.yml',
    commands: [
      { command: '/bin/sh', arguments: ['-euc', 'mkdir output && cp -R -- "$@" output/', 'sh', '<<input-files>>'] },
      { command: '/bin/sh', arguments: ['-euc', 'true', 'sh', '<<input-files>>'] },
    ],
    fileTypes: ['.zip', '.tar.gz', '.tgz'],
    maxUploadSize: 524_288_000,
  });
});

t.test('/health counts responses, sizes and durations', async (t) => {
  const app = await handlerApp(t, { commands: [sh('[ "$1" = a.txt ] && mkdir output && cp a.txt output')] });
  const none = { byStatus: {}, avgSize: 0, avgDuration: '0s', largest: 0, longest: '0s' };
  t.match(await health(app), { status: 'healthy', version: '1.2.3', stats: none });
  const [small, large] = [await zipOf({ 'a.txt': 'a' }), await zipOf({ 'b.txt': 'a'.repeat(50) })];
  await (await app.job('a', small)).arrayBuffer();
  t.equal((await app.job('b', large)).status, 500);
  await app.put('x', '{');
  await app.status('nobody');
  const { avgDuration, longest, ...counts } = (await health(app)).stats as Record<string, unknown>;
  t.strictSame(counts, {
    byStatus: { 200: 2, 204: 2, 400: 1, 404: 1, 500: 1 },
    avgSize: Math.round((small.length + large.length) / 2),
    largest: large.length,
  });
  const [average = 0, most = 0] = [avgDuration, longest].map((text) => parseDuration(String(text)));
  t.ok(average > 0 && average <= most, `${avgDuration} ${longest}`);
  t.strictSame((await app.kept.read(signal)).uploads, 2, 'they are kept');
});

t.test('/health is degraded when every place is taken', async (t) => {
  const app = await handlerApp(t, { queueSize: 1, workerCount: 1 });
  const reserved = [app.lane.reserve('1'), app.lane.reserve('2')];
  const { code, status, dependencies } = await health(app);
  const places = (dependencies as readonly { readonly name: string }[]).find(({ name }) => name === 'places');
  t.match([code, status, places], [200, 'degraded', { online: 'no', message: 'all places for jobs are taken' }]);
  for (const place of reserved) place?.[Symbol.dispose]();
  t.match(await health(app), { status: 'healthy' });
});

t.test('/health is 500 with the error body when a job would not find what it needs', async (t) => {
  const app = await handlerApp(t, { commands: [{ ...COPY, command: 'no-such-program' }] });
  const failing = async (message: RegExp): Promise<void> => {
    const { requestId, ...told } = await health(app);
    t.ok(requestId);
    t.match(told, { code: 500, status: 'server-error', message });
    t.strictSame(Object.keys(told), ['code', 'status', 'message']);
  };
  await failing(/^command no-such-program: it does not exist or is not executable$/);
  await rm(app.workDir, { recursive: true });
  await failing(/workspace: the workspace folder does not exist or is not writable; disk: .*; command no-such/);

  const away = await handlerApp(t);
  away.kept.fault = new Error('connection refused by 10.0.0.1');
  t.match(await health(away), {
    code: 500,
    status: 'server-error',
    message: 'cache-db: the statistics cannot be read',
  });
  away.kept.fault = undefined;
  t.match(await health(away), { stats: { byStatus: { 500: 1 } } }, 'nothing was lost');
});

t.test('uploads that never came, results and records go when their time is over', async (t) => {
  const app = await handlerApp(t);
  const archive = await zipOf({ 'a.txt': 'a' });
  await (await app.job('done', archive)).arrayBuffer();
  await app.put('waiting');
  const done = await app.jobs.find('done', new Date(), signal);
  if (!done) throw new Error('no job');
  await app.store.put(`handler/${done.id}/left over`, Buffer.from('x'), {}, signal);
  const clock = new VirtualClock(Date.now());
  const parts = expiring(app, clock);
  t.strictSame(await expireJobs(parts, signal), { cutOff: 0, results: 0, jobs: 0 });
  t.equal(app.store.keys().length, 2);
  await clock.advance(24 * HOUR);
  t.strictSame(await expireJobs(parts, signal), { cutOff: 0, results: 1, jobs: 1 });
  t.strictSame(app.store.keys(), []);
  t.equal((await fetch(app.jobUrl('waiting', '/status'))).status, 404);
  t.match(await app.status('done'), { status: 'job completed' });
  t.equal((await fetch(app.jobUrl('done', '/result'))).status, 404);
  await clock.advance(48 * HOUR);
  t.strictSame(await expireJobs(parts, signal), { cutOff: 0, results: 0, jobs: 1 });
  t.equal((await fetch(app.jobUrl('done', '/status'))).status, 404);
});

t.test('a result that cannot be removed keeps neither the others nor its own record from their time', async (t) => {
  const app = await handlerApp(t);
  const archive = await zipOf({ 'a.txt': 'a' });
  for (const id of ['first', 'second']) await (await app.job(id, archive)).arrayBuffer();
  const stuck = (await app.jobs.find('first', new Date(), signal))?.id ?? '';
  app.store.onCall = (method, key) => {
    if (method === 'remove' && key.includes(stuck)) throw new Error('disk error');
  };
  const clock = new VirtualClock(Date.now() + 24 * HOUR);
  const parts = expiring(app, clock);
  await t.rejects(expireJobs(parts, signal), { message: 'disk error' });
  t.strictSame(app.store.keys(), [handlerResultKey(stuck)]);
  app.store.onCall = () => undefined;
  t.match(await expireJobs(parts, signal), { results: 1 });
  t.strictSame(app.store.keys(), []);
});

t.test('a registration that takes the place of a completed job has its result removed', async (t) => {
  const app = await handlerApp(t);
  await (await app.job('x', await zipOf({ 'a.txt': 'a' }))).arrayBuffer();
  await app.put('x');
  const clock = new VirtualClock(Date.now() + 1);
  const parts = expiring(app, clock);
  t.strictSame(await expireJobs(parts, signal), { cutOff: 0, results: 0, jobs: 1 });
  t.strictSame(app.store.keys(), []);
  t.match(await app.status('x'), { status: 'awaiting upload' });
});

t.test('a job whose process was killed fails, and what it had kept goes', async (t) => {
  const app = await handlerApp(t);
  const other = new FakeHandlerJobs(app.table, 2);
  await app.put('x');
  const job = await other.find('x', new Date(), signal);
  if (!job) throw new Error('no job');
  await other.move(job.id, { to: 'uploading', started: new Date() }, signal);
  await app.store.put(handlerResultKey(job.id), Buffer.from('x'), {}, signal);
  const parts = expiring(app, new VirtualClock(Date.now()));
  t.match(await expireJobs(parts, signal), { cutOff: 0 });
  app.table.dead.add(2);
  t.match(await expireJobs(parts, signal), { cutOff: 1 });
  t.match(await app.status('x'), {
    status: 'job failed',
    message: 'the job was aborted: its process was killed',
  });
  t.strictSame(app.store.keys(), []);
});
