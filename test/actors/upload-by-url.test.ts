// The upload lane fetches from a real server that stands elsewhere.

import { readdir } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { Scratch } from '../../actors/jobs/scratch.ts';
import { UploadLane } from '../../actors/lanes/upload-lane.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { aborted } from '../../engine/runtime/failure.ts';
import { zipOf } from '../fixtures/archives.ts';
import { newAddress } from '../support/dataset-samples.ts';
import { digestedFile } from '../support/digested-files.ts';
import { FaultGate } from '../support/fault-gate.ts';
import { InProcessTasks } from '../support/in-process-tasks.ts';
import { TYPES } from '../support/lane-settings.ts';
import { claimed } from '../support/lane-start.ts';
import { LaneWorld } from '../support/lane-world.ts';
import { type RemoteAnswer, remoteServer } from '../support/remote-server.ts';

const never = new AbortController().signal;
const QUOTA = 500_000;

const gives =
  (content: string | Buffer, headers: Record<string, string | number> = {}): RemoteAnswer =>
  (_request, response) => {
    response.writeHead(200, headers).end(content);
  };
const answers =
  (status: number): RemoteAnswer =>
  (_request, response) => {
    response.writeHead(status).end('no');
  };

/** A body without end; tells when its reader has hung up. */
function endless(): { answer: RemoteAnswer; readonly closed: Promise<void> } {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const answer: RemoteAnswer = (_request, response) => {
    response.on('close', resolve);
    response.writeHead(200);
    const chunk = Buffer.alloc(64 * 1024, 'A1\n');
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  };
  return { answer, closed };
}

async function accepted(t: Test, answer: RemoteAnswer, path = '/genes.txt') {
  const world = new LaneWorld(t.testdir());
  const server = await remoteServer(t, answer);
  const at = await world.accept({ url: server.url(path) });
  return { world, server, at };
}

const LEFT = ['upload-error.json', 'vdi-meta.json'];

/** What is left of an upload that was refused. */
async function refused(t: Test, world: LaneWorld, at: DatasetAddress, message: string): Promise<void> {
  t.same(world.dataset(at).upload, { status: 'rejected', message });
  t.same(world.json(at, 'upload-error.json'), { status: 'rejected', message });
  t.same(world.keys(at), LEFT);
  t.equal(await world.uploads.usage(at.owner, never), 0);
  t.equal(await world.uploads.source(at.dataset, never), undefined);
}

t.test('what is at the URL becomes an upload like one of files', async (t) => {
  const root = t.testdir();
  const world = new LaneWorld(root);
  const server = await remoteServer(
    t,
    gives('A1\nA2\n', { 'content-disposition': 'attachment; filename="my genes.txt"' }),
  );
  const at = await world.accept({ url: server.url('/download?id=7') });
  t.same(await world.run('upload'), { kind: 'done' });
  t.same(world.dataset(at).upload, { status: 'success', message: undefined });
  t.same(world.dataset(at).files.upload, [digestedFile('my genes.txt', 'A1\nA2\n')]);
  t.same(await world.contents(at, 'import-ready.zip'), { 'my genes.txt': 'A1\nA2\n' });
  t.same(world.keys(at), ['import-ready.zip', 'vdi-manifest.json', 'vdi-meta.json']);
  t.equal(await world.uploads.usage(at.owner, never), 0, 'nothing is left under raw/');
  t.equal(await world.uploads.source(at.dataset, never), undefined);
  t.same(server.asked, ['/download?id=7']);
  t.same(await readdir(root), []);
});

t.test('an archive is unpacked, a gzip-encoded text decoded', async (t) => {
  const archive = await zipOf({ 'sub/a.txt': 'alpha' });
  const zip = await accepted(t, gives(archive), '/a.zip');
  await zip.world.run('upload');
  t.same(await zip.world.contents(zip.at, 'import-ready.zip'), { 'sub/a.txt': 'alpha' });
  const text = await accepted(t, gives(gzipSync('alpha'), { 'content-encoding': 'gzip' }), '/a.txt');
  await text.world.run('upload');
  t.same(await text.world.contents(text.at, 'import-ready.zip'), { 'a.txt': 'alpha' });
});

t.test('a URL that the user has to mend is rejected, says why, and leaves nothing', async (t) => {
  const once =
    'it worked when the upload was submitted, so it may be a single-use link: send a link that keeps working, or the file itself';
  const inside = await remoteServer(t, gives('secret'), '127.0.0.2');
  for (const [answer, said] of [
    [answers(404), (url: string) => `${url} answered 404 (Not Found); ${once}`],
    [answers(403), (url: string) => `${url} answered 403 (Forbidden); ${once}`],
    [gives(''), (url: string) => `${url} answered with an empty body; ${once}`],
    [
      (_request, response) => void response.writeHead(302, { location: inside.url('/').href }).end(),
      () =>
        'the URL leads to 127.0.0.2, which is not on the public internet at one of the ports 80, 443, and not allowed by restService.urlUploads.allow',
    ],
    [
      gives('x', { 'content-disposition': 'attachment; filename=a.csv' }),
      () => "'a.csv' has a file extension that this data type does not allow; allowed: .txt",
    ],
  ] as const satisfies readonly (readonly [RemoteAnswer, (url: string) => string])[]) {
    const { world, server, at } = await accepted(t, answer);
    const message = said(server.url('/genes.txt').href);
    t.same(await world.run('upload'), { kind: 'invalid', message });
    t.same([world.dataset(at).upload, world.keys(at)], [{ status: 'rejected', message }, LEFT]);
    t.equal(await world.uploads.source(at.dataset, never), undefined);
  }
  t.same(inside.asked, []);
});

t.test('a body without end is cut off at the limit, and the server is hung up on', async (t) => {
  for (const [path, message] of [
    ['/genes.txt', 'genes.txt has more than the 100000 bytes allowed per file'],
    ['/genes.zip', 'genes.zip is larger than 200000 bytes, the maximum for an upload'],
  ] as const) {
    const { answer, closed } = endless();
    const { world, at } = await accepted(t, answer, path);
    t.same(await world.run('upload'), { kind: 'invalid', message });
    await closed;
    await refused(t, world, at, message);
  }
});

t.test('what decodes to more than is allowed is cut off as well', async (t) => {
  const { world, at } = await accepted(t, gives(gzipSync(Buffer.alloc(100_001)), { 'content-encoding': 'gzip' }));
  await world.run('upload');
  await refused(t, world, at, 'genes.txt has more than the 100000 bytes allowed per file');
});

t.test('what is announced as too large is not read', async (t) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const { world, at } = await accepted(t, (_request, response) => {
    response.on('close', resolve);
    response.writeHead(200, { 'content-length': 100_001 });
    response.write('x');
  });
  await world.run('upload');
  await closed;
  await refused(t, world, at, 'genes.txt has more than the 100000 bytes allowed per file');
});

t.test('a file that is larger than what the quota leaves is rejected, exactly', async (t) => {
  const message = `the upload is larger than the 1000 bytes left of your storage quota of ${QUOTA} bytes, of which ${QUOTA - 1_000} are used`;
  for (const [size, fits] of [
    [1_000, true],
    [1_001, false],
  ] as const) {
    const { world, at } = await accepted(t, gives('x'.repeat(size)));
    t.equal(await world.uploads.begin(newAddress(at.owner), QUOTA - 1_000, { bytes: QUOTA }, never), 'begun');
    t.same(await world.run('upload'), fits ? { kind: 'done' } : { kind: 'invalid', message });
    if (fits) t.same(world.dataset(at).upload, { status: 'success', message: undefined });
    else t.same(world.dataset(at).upload, { status: 'rejected', message });
    t.equal(await world.uploads.usage(at.owner, never), QUOTA - 1_000);
  }
});

t.test('room that another upload takes during the transfer is gone', async (t) => {
  const world = new LaneWorld(t.testdir());
  const at = newAddress();
  const server = await remoteServer(t, (_request, response) => {
    response.writeHead(200);
    response.write('x');
    void world.uploads.begin(newAddress(at.owner), QUOTA, { bytes: QUOTA }, never).then(() => response.end('y'));
  });
  await world.accept({ url: server.url('/genes.txt') }, at);
  await world.run('upload');
  t.same(world.dataset(at).upload, {
    status: 'rejected',
    message: `the upload is larger than the 0 bytes left of your storage quota of ${QUOTA} bytes, of which ${QUOTA} are used`,
  });
  t.same(world.keys(at), ['upload-error.json', 'vdi-meta.json']);
});

t.test('a server that is away for a while is asked again', async (t) => {
  const faults: RemoteAnswer[] = [
    answers(503),
    answers(429),
    (_request, response) => void response.socket?.destroy(),
    (_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('A1\n', () => response.destroy());
    },
  ];
  const said = [/answered 503/, /answered 429/, /cannot be fetched: /, /broke off: /];
  const { world, server, at } = await accepted(t, (request, response) =>
    (faults.shift() ?? gives('A1\n'))(request, response),
  );
  for (const [i, message] of said.entries()) {
    t.match(await world.run('upload'), { kind: 'retry', countsAttempt: true, message });
    t.match(world.dataset(at).upload, { status: 'running', message: `attempt ${i + 1} of 12: ` });
    t.same(world.keys(at), ['vdi-meta.json']);
    await world.clock.advanceToNext();
  }
  t.same(await world.run('upload'), { kind: 'done' });
  t.same(world.dataset(at).upload, { status: 'success', message: undefined });
  t.equal(server.asked.length, 5);
});

t.test('a server that stays away ends in `failed`, after twelve attempts', async (t) => {
  const { world, server, at } = await accepted(t, answers(503));
  await world.finish();
  t.same(world.dataset(at).upload, {
    status: 'failed',
    message: `${server.url('/genes.txt').href} answered 503 (Service Unavailable)`,
  });
  t.equal(server.asked.length, 12);
});

t.test('what was fetched whole is not fetched again after a crash', async (t) => {
  // A link that works only once more than it was tried.
  let left = 1;
  const { world, server, at } = await accepted(t, (request, response) =>
    (left-- > 0 ? gives('A1\n') : answers(410))(request, response),
  );
  const crash = new FaultGate('crash', await callNumber(t, 'uploads.fetched'), () => world.leases.kill(1));
  await world.finish(world.process(crash));
  t.equal(crash.calls.at(-1), 'uploads.fetched');
  t.same(world.keys(at), ['raw/genes.txt', 'vdi-meta.json']);
  await world.finish(world.process());
  t.same(world.dataset(at).upload, { status: 'success', message: undefined });
  t.equal(server.asked.length, 1);
});

t.test('a stop in the middle of a transfer gives the job back and hangs up', async (t) => {
  const stop = new AbortController();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const { world, at } = await accepted(t, (_request, response) => {
    response.on('close', resolve);
    response.writeHead(200);
    response.write('A1\n', () => stop.abort(aborted('shutdown')));
  });
  const { process, job } = await claimed(world, 'upload');
  t.same(await process.perform(job, stop.signal), { kind: 'requeue', crashed: false });
  await closed;
  t.same(world.dataset(at).upload, { status: 'running', message: undefined });
});

t.test('transfers leave workers to uploads of files: beyond their number they wait, and use up no try', async (t) => {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { world, server, at } = await accepted(t, (_request, response) => {
    reach();
    void released.then(() => response.end('A1\n'));
  });
  const process = world.process();
  const first = await process.claim('upload');
  if (!first) throw new Error('no job');
  const running = process.perform(first);
  await reached;
  const other = await world.accept({ url: server.url('/other.txt') });
  const files = await world.accept();
  t.match(await world.run('upload', process), {
    kind: 'retry',
    countsAttempt: false,
    message: 'waiting for other uploads by URL to finish',
  });
  t.same(world.dataset(other).upload, { status: 'running', message: undefined });
  t.same(await world.run('upload', process), { kind: 'done' });
  t.same(world.dataset(files).upload, { status: 'success', message: undefined });
  release();
  const outcome = await running;
  t.same(outcome, { kind: 'done' });
  await process.complete(first, outcome);
  await world.clock.advanceToNext();
  t.same(await world.run('upload', process), { kind: 'done' });
  for (const dataset of [at, other]) t.same(world.dataset(dataset).upload, { status: 'success', message: undefined });
});

t.test('a URL that was accepted before they were switched off is rejected', async (t) => {
  const { world, server, at } = await accepted(t, gives('A1\n'));
  const { url: _off, ...limits } = world.settings.uploadLimits;
  const tasks = new InProcessTasks({ store: world.store, plugins: new Map() });
  const lane = new UploadLane({ ...world, tasks }, TYPES, limits, new Scratch(t.testdir()));
  const job = await world.process().claim('upload');
  if (!job) throw new Error('no job');
  const message = 'uploads by URL are not enabled on this server';
  t.same(await lane.run(job, never), { kind: 'invalid', message });
  await refused(t, world, at, message);
  t.same(server.asked, []);
});

/** Number of the first such call, from 1, in an undisturbed run of the upload. */
async function callNumber(t: Test, name: string): Promise<number> {
  const { world } = await accepted(t, gives('A1\n'));
  const gate = new FaultGate();
  await world.run('upload', world.process(gate));
  return gate.calls.indexOf(name) + 1;
}
