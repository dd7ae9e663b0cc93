// How many handler jobs are taken and how many run.

import { execFileSync } from 'node:child_process';
import { access, open } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { HandlerLane } from '../../../actors/handler/handler-lane.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { handlerApp, metadata, sh } from '../../http/handler/handler-app.ts';
import { dial } from '../../http/http-app.ts';

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
    t.equal((await app.put(`job ${n}`, metadata({ owner: n + 1, handlerParams: { dir: app.dir, n } }))).status, 204);
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
  for (const [owner, id] of ['running', 'waiting'].entries())
    await app.put(id, metadata({ owner: owner + 1, handlerParams: { fifo } }));
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
  const [first, second] = [lane.reserve('1'), lane.reserve('2')];
  t.ok(first && second);
  t.equal(lane.reserve('3'), undefined);
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
      lane.reserve('1')?.run(async () => {
        throw new Error('broke');
      }),
    { message: 'broke' },
  );
  t.equal(lane.taken, 0, 'a failure frees its place, and the worker goes on');
  t.equal(await lane.reserve('1')?.run(async () => 'next'), 'next');

  // Quiet with a place out: its work still runs.
  const last = lane.reserve('1');
  lane.quiet();
  t.equal(lane.reserve('2'), undefined);
  t.equal(await last?.run(async (until) => until.aborted), false);
  await lane.stop(clock.now() + 1_000);
});

t.test('a lane stops when those that waited have been told of it, too', async (t) => {
  const [clock, log, metrics] = [new VirtualClock(), silentLogger(), new Metrics()];
  const lane = new HandlerLane({ name: 'lane', queueSize: 1, workerCount: 1, clock, log, metrics });
  await lane.start(signal);
  const running = lane
    .reserve('1')
    ?.run((until) => new Promise<void>((resolve) => until.addEventListener('abort', () => resolve())));
  const told = Promise.withResolvers<void>();
  const waiting = lane.reserve('2')?.run(async (until) => {
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

t.test('an owner may have as many places as are free, and whoever comes always finds one', async (t) => {
  const [clock, log, metrics] = [new VirtualClock(), silentLogger(), new Metrics()];
  const lane = new HandlerLane({ name: 'lane', queueSize: 16, workerCount: 4, clock, log, metrics });
  t.teardown(() => lane.kill());
  await lane.start(signal);
  const taken = (owner: string): number => {
    let count = 0;
    while (lane.reserve(owner)) count++;
    return count;
  };
  t.strictSame(['1', '2', '3', '4', '5'].map(taken), [10, 5, 3, 1, 1]);
  t.equal(lane.taken, lane.capacity);
});

t.test('whatever an owner has waiting, the job of another is the next to run', async (t) => {
  const [clock, log, metrics] = [new VirtualClock(), silentLogger(), new Metrics()];
  const lane = new HandlerLane({ name: 'lane', queueSize: 200, workerCount: 4, clock, log, metrics });
  t.teardown(() => lane.kill());
  await lane.start(signal);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const add = (owner: string) =>
    lane.reserve(owner)?.run(async () => {
      begun.push(owner);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  for (let n = 0; n < 100; n++) void add('1');
  await clock.settle();
  t.strictSame(begun, ['1', '1', '1', '1']);
  void add('2');
  ends.shift()?.();
  await clock.settle();
  t.equal(begun[4], '2');
  while (ends.length > 0) {
    ends.shift()?.();
    await clock.settle();
  }
  t.equal(begun.length, 101);
});

t.test('uploads that drip hold a share of the places, and others are served', async (t) => {
  const app = await handlerApp(t, { queueSize: 4, workerCount: 4 });
  const archive = await zipOf({ 'a.txt': 'a' });
  for (let n = 0; n < 4; n++) {
    await app.put(`drip ${n}`, metadata({ owner: 1 }));
    const { socket } = dial(app.port);
    socket.write(
      `POST /job/drip%20${n} HTTP/1.1\r\nHost: x\r\nContent-Type: application/zip\r\nContent-Length: 500000000\r\n\r\nPK`,
    );
    t.teardown(() => socket.destroy());
    while (app.lane.taken <= n) await new Promise(setImmediate);
  }
  await app.put('one more', metadata({ owner: 1 }));
  const refused = await app.post('one more', archive);
  t.equal(refused.status, 429);
  t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/);
  t.match(await refused.json(), {
    message: /^jobs of user 1 have 4 of 8 places, and 4 are free, which are left to others/,
  });
  await app.put('other', metadata({ owner: 2 }));
  t.equal((await app.post('other', archive)).status, 200);
});
