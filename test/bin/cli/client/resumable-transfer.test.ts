import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Response } from 'undici';
import { ResumableTransfer, type ResumableTransferOptions } from '../../../../bin/cli/client/resumable-transfer.ts';
import { ApiError } from '../../../../bin/cli/command.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';

const signal = new AbortController().signal;
const ID = '0123456789abcdef0123456789abcdef';
const DAY_MS = 24 * 3_600_000;
const OTHER = 'fedcba9876543210fedcba9876543210';

/** A server with one upload, which fails as it is told. */
async function setup(t: Test, content = '0123456789') {
  const folder = t.testdir({ 'genes.txt': content });
  const server = {
    id: ID,
    received: undefined as string | undefined,
    calls: [] as string[],
    /** Of the creations. */
    keys: [] as unknown[],
    /** Called before each call; throws what it should fail with. */
    onCall: (_method: string): void => {},
    /** Bytes of a body after which the connection breaks. */
    breaksAfter: Number.POSITIVE_INFINITY,
  };
  const call: ResumableTransferOptions['call'] = async (path, { method = 'GET', headers = {}, body }) => {
    server.calls.push(method);
    if (method === 'POST') server.keys.push(headers['idempotency-key']);
    server.onCall(method);
    if (method === 'POST') {
      server.received = '';
      return new Response(null, { status: 201, headers: { location: `http://x${path}/${server.id}` } });
    }
    if (server.received === undefined || !path.endsWith(server.id)) throw new ApiError(404, 'there is no upload');
    if (method === 'HEAD') return new Response(null, { headers: { 'upload-offset': String(server.received.length) } });
    t.equal(headers['upload-offset'], String(server.received.length));
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      const taken = Buffer.from(piece).subarray(0, server.breaksAfter);
      server.received += String(taken);
      if (taken.length < piece.length) throw transient('the connection broke', { unreachable: true });
    }
    return new Response(null, { status: 204 });
  };
  let sent = 0;
  let laterMs = 0;
  const clock = { ...systemClock, sleep: async () => undefined, now: () => systemClock.now() + laterMs };
  const transfer = () =>
    new ResumableTransfer({
      ...{ call, account: 'server user', stateDir: join(folder, 'state'), clock },
      sent: (bytes) => {
        sent += bytes;
      },
    });
  const file = join(folder, 'genes.txt');
  const pass = (ms: number): void => {
    laterMs += ms;
  };
  const remembered = () => readdir(join(folder, 'state'));
  return { server, transfer, file, sent: () => sent, pass, remembered };
}

t.test('a file is sent once, and the progress is that of its bytes', async (t) => {
  const { server, transfer, file, sent } = await setup(t);
  t.strictSame(await transfer().send([file], signal), [ID]);
  t.strictSame([server.received, sent(), server.calls], ['0123456789', 10, ['POST', 'PATCH']]);
});

t.test('a connection that breaks is continued from what the server has', async (t) => {
  const { server, transfer, file, sent } = await setup(t);
  server.breaksAfter = 4;
  t.strictSame(await transfer().send([file], signal), [ID]);
  t.strictSame([server.received, sent()], ['0123456789', 10]);
  t.strictSame(server.calls, ['POST', 'PATCH', 'HEAD', 'PATCH', 'HEAD', 'PATCH']);
});

t.test('a later call continues the upload of the same file, until it is forgotten', async (t) => {
  const { server, transfer, file } = await setup(t);
  server.breaksAfter = 4;
  server.onCall = (method) => {
    if (method === 'HEAD') throw new ApiError(400, 'no');
  };
  await t.rejects(transfer().send([file], signal), { message: 'no' });
  server.onCall = () => {};
  server.breaksAfter = Number.POSITIVE_INFINITY;
  server.calls = [];
  const second = transfer();
  t.strictSame(await second.send([file], signal), [ID]);
  t.strictSame([server.received, server.calls], ['0123456789', ['HEAD', 'PATCH']]);
  await second.finish(async () => new Response(), signal);
  server.calls = [];
  await transfer().send([file], signal);
  t.strictSame(server.calls, ['POST', 'PATCH']);
});

t.test('a file that has changed, or that the server has forgotten, is sent anew', async (t) => {
  const { server, transfer, file } = await setup(t);
  await transfer().send([file], signal);
  server.id = OTHER;
  t.strictSame(await transfer().send([file], signal), [OTHER], 'forgotten');
  await writeFile(file, 'other');
  server.calls = [];
  await transfer().send([file], signal);
  t.strictSame([server.received, server.calls], ['other', ['POST', 'PATCH']]);
});

t.test('an upload that no command has used for a month is forgotten', async (t) => {
  const { server, transfer, file, pass, remembered } = await setup(t);
  await transfer().send([file], signal);
  const [first] = await remembered();
  pass(29 * DAY_MS);
  await transfer().send([file], signal);
  pass(29 * DAY_MS);
  await transfer().send([file], signal);
  t.strictSame(server.calls, ['POST', 'PATCH', 'HEAD', 'HEAD'], 'each command uses it');
  t.strictSame(await remembered(), [first]);
  await writeFile(file, 'other');
  pass(31 * DAY_MS);
  await transfer().send([file], signal);
  t.equal((await remembered()).length, 1);
  t.notSame(await remembered(), [first]);
});

t.test('a server without resumable uploads is told from one that refuses', async (t) => {
  const { server, transfer, file } = await setup(t);
  server.onCall = () => {
    throw new ApiError(404, 'nothing is at /uploads');
  };
  t.equal(await transfer().send([file], signal), undefined);
  server.onCall = () => {
    throw new ApiError(400, 'the quota');
  };
  await t.rejects(transfer().send([file], signal), { message: 'the quota' });
  t.equal(server.calls.length, 2);
});

t.test(
  'an upload whose answer was lost is created with the same key, one that was forgotten with another',
  async (t) => {
    const { server, transfer, file } = await setup(t);
    let lost = true;
    server.onCall = (method) => {
      if (method !== 'POST' || !lost) return;
      lost = false;
      throw transient('the connection broke', { unreachable: true });
    };
    await transfer().send([file], signal);
    t.equal(server.keys.length, 2);
    t.equal(server.keys[0], server.keys[1]);
    server.id = OTHER;
    await transfer().send([file], signal);
    t.not(server.keys[2], server.keys[1]);
  },
);

t.test('making a dataset is repeated while the server is away, then the uploads are forgotten', async (t) => {
  const { server, transfer, file } = await setup(t);
  const sending = transfer();
  await sending.send([file], signal);
  let creations = 0;
  const made = new Response();
  const create = async (): Promise<Response> => {
    if (++creations < 3)
      throw creations === 1 ? transient('cut', { unreachable: true }) : new ApiError(409, 'under way', 5_000);
    return made;
  };
  t.equal(await sending.finish(create, signal), made);
  t.equal(creations, 3);
  const late = async (): Promise<Response> => {
    creations++;
    throw new ApiError(409, 'another became the newest revision');
  };
  await t.rejects(sending.finish(late, signal), { message: 'another became the newest revision' });
  t.equal(creations, 4, 'a conflict that stays is told at once');
  server.calls = [];
  await transfer().send([file], signal);
  t.strictSame(server.calls, ['POST', 'PATCH']);
});

t.test('a server that has other bytes than was thought is asked which', async (t) => {
  const { server, transfer, file } = await setup(t);
  let conflicts = 0;
  server.onCall = (method) => {
    if (method === 'PATCH' && conflicts++ === 0) throw new ApiError(409, 'header Upload-Offset is 0');
  };
  t.strictSame(await transfer().send([file], signal), [server.id]);
  t.strictSame(server.calls, ['POST', 'PATCH', 'HEAD', 'PATCH']);
});

t.test('a server that stays away is given up', async (t) => {
  const { server, transfer, file } = await setup(t);
  server.onCall = () => {
    throw transient('away', { unreachable: true });
  };
  await t.rejects(transfer().send([file], signal), { message: 'away' });
  t.equal(server.calls.length, 15);
});
