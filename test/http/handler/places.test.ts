// How many handler jobs are taken and how many run.

import { execFileSync } from 'node:child_process';
import { access, open } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../../engine/log.ts';
import { Metrics } from '../../../engine/metrics.ts';
import { HandlerLane } from '../../../http/handler/handler-lane.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { dial } from '../http-app.ts';
import { handlerApp, metadata, sh } from './handler-app.ts';

const signal = new AbortController().signal;

t.test('16 wait and 4 run: 20 are taken, never more than 4 run, the 21st is 503 before its body', async (t) => {
  // Each run leaves a file that tells the most that ran beside it.
  const script =
    'mkdir "$1/run-$2"; ls -d "$1"/run-* | wc -l > "$1/seen-$2"; read x < "$1/fifo-$2"; rmdir "$1/run-$2"; mkdir output; cp "$1/seen-$2" output/seen';
  const app = await handlerApp(t, {
    queueSize: 16,
    workerCount: 4,
    commands: [sh(script, '<<handler-params.dir>>', '<<handler-params.n>>')],
  });
  const archive = await zipOf({ 'a.txt': 'a' });
  const ids = Array.from({ length: 21 }, (_, n) => n);
  for (const n of ids) {
    execFileSync('mkfifo', [join(app.dir, `fifo-${n}`)]);
    t.equal((await app.put(`job ${n}`, metadata({ handlerParams: { dir: app.dir, n } }))).status, 204);
  }
  const answers: ReturnType<typeof app.post>[] = [];
  for (const n of ids.slice(0, 20)) {
    answers.push(app.post(`job ${n}`, archive));
    while (app.lane.taken <= n) await new Promise(setImmediate);
  }
  t.equal(app.lane.taken, 20);

  // Announces much, sends nothing: the refusal does not wait for it.
  const { socket, answer } = dial(app.port);
  const head =
    'Host: x\r\nContent-Type: application/zip\r\nContent-Length: 500000000\r\nExpect: 100-continue\r\nConnection: close';
  socket.write(`POST /job/job%2020 HTTP/1.1\r\n${head}\r\n\r\n`);
  const refused = await answer;
  t.match(refused, /^HTTP\/1\.1 503 /);
  t.match(refused, /\r\nretry-after: 10\r\n/i);
  t.match(refused, '"message":"all 20 places for jobs are taken; try again"');
  t.match(await app.status('job 20'), { status: 'awaiting upload' });

  while (app.lane.running < 4) await new Promise(setImmediate);
  const states = await Promise.all(ids.slice(0, 20).map(async (n) => (await app.status(`job ${n}`)).status));
  t.equal(states.filter((status) => status === 'uploading files for processing').length, 16);
  t.match(await app.metrics.text(), /handler_places\{state="free"\} 0\n.*waiting"\} 16\n.*running"\} 4\n/s);

  // Released one by one as they run: whose upload was received first is not ours to say.
  for (const waiting = new Set(ids.slice(0, 20)); waiting.size > 0; ) {
    const states = await Promise.all(
      [...waiting].map(async (n) => [n, (await app.status(`job ${n}`)).status] as const),
    );
    const [n] = states.find(([, status]) => status === 'processing uploaded files') ?? [];
    if (n === undefined) continue;
    waiting.delete(n);
    const writer = await open(join(app.dir, `fifo-${n}`), 'w');
    await writer.write('go\n');
    await writer.close();
    t.equal((await answers[n])?.status, 200, `job ${n}`);
    const seen = await open(join(app.dir, `seen-${n}`));
    const count = Number((await seen.readFile('utf8')).trim());
    await seen.close();
    t.ok(count >= 1 && count <= 4, `${count} ran at once`);
  }
  t.equal(app.lane.taken, 0);
  t.strictSame(await app.folders(), []);
  await t.rejects(access(join(app.dir, 'run-0')));
});

t.test('a job that is cut off by the end of the process fails with the reason', async (t) => {
  const app = await handlerApp(t, {
    workerCount: 1,
    commands: [sh('echo up > "$1"; sleep 600', '<<handler-params.fifo>>')],
  });
  const fifo = join(app.dir, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const archive = await zipOf({ 'a.txt': 'a' });
  for (const id of ['running', 'waiting']) await app.put(id, metadata({ handlerParams: { fifo } }));
  const running = app.post('running', archive);
  const reader = await open(fifo, 'r');
  await reader.read(Buffer.alloc(3), 0, 3);
  await reader.close();
  const waiting = app.post('waiting', archive);
  while (app.lane.taken < 2) await new Promise(setImmediate);
  while ((await app.folders()).length < 2) await new Promise(setImmediate);
  await app.lane.stop(Date.now() + 10);
  for (const [id, answer] of [
    ['running', running],
    ['waiting', waiting],
  ] as const) {
    t.equal((await answer).status, 500, id);
    t.match(await app.status(id), { status: 'job failed', message: 'the job was cut off: shutdown' });
  }
  while ((await app.folders()).length > 0) await new Promise(setImmediate);
  const late = await app.job('late', archive);
  t.equal(late.status, 503, 'nothing more is taken');
});

t.test('places are given back once, in any way', async (t) => {
  const [clock, log, metrics] = [new VirtualClock(), silentLogger(), new Metrics()];
  const lane = new HandlerLane({ name: 'lane', queueSize: 1, workerCount: 1, clock, log, metrics });
  await lane.start(signal);
  const [first, second] = [lane.reserve(), lane.reserve()];
  t.ok(first && second);
  t.equal(lane.reserve(), undefined);
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  t.equal(lane.taken, 1);
  const done = second?.run(async () => 'done');
  second?.[Symbol.dispose]();
  t.equal(lane.taken, 1, 'work keeps its place when its caller leaves');
  t.equal(await done, 'done');
  t.equal(lane.taken, 0);
  await t.rejects(
    async () =>
      lane.reserve()?.run(async () => {
        throw new Error('broke');
      }),
    { message: 'broke' },
  );
  t.equal(lane.taken, 0, 'a failure frees its place, and the worker goes on');
  t.equal(await lane.reserve()?.run(async () => 'next'), 'next');

  // Quiet with a place out: its work still runs.
  const last = lane.reserve();
  lane.quiet();
  t.equal(lane.reserve(), undefined);
  t.equal(await last?.run(async (until) => until.aborted), false);
  await lane.stop(clock.now() + 1_000);
});

t.test('a lane stops when those that waited have been told of it, too', async (t) => {
  const [clock, log, metrics] = [new VirtualClock(), silentLogger(), new Metrics()];
  const lane = new HandlerLane({ name: 'lane', queueSize: 1, workerCount: 1, clock, log, metrics });
  await lane.start(signal);
  const running = lane
    .reserve()
    ?.run((until) => new Promise<void>((resolve) => until.addEventListener('abort', () => resolve())));
  const told = Promise.withResolvers<void>();
  const waiting = lane.reserve()?.run(async (until) => {
    await told.promise;
    return until.aborted;
  });
  let stopped = false;
  const stopping = lane.stop(clock.now() + 10_000).then(() => {
    stopped = true;
  });
  await clock.advance(9_000);
  await running;
  t.notOk(stopped);
  told.resolve();
  await stopping;
  t.equal(await waiting, true);
});
