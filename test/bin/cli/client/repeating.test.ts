import { createServer } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { InstallerClient } from '../../../../bin/cli/client/installer-client.ts';
import { isLost, repeating } from '../../../../bin/cli/client/repeating.ts';
import { ApiError } from '../../../../bin/cli/command.ts';
import { rejected, transient } from '../../../../engine/runtime/failure.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';

const signal = new AbortController().signal;
const clock = { ...systemClock, sleep: async () => undefined };

/** Seconds of Retry-After. */
type Later = readonly [status: number, seconds: number];

/** A server whose n-th answer is what the list says: a status, or the end of the connection. */
async function setup(t: Test, ...answers: readonly (number | Later | 'cut')[]) {
  const seen: { readonly key: unknown; readonly body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const answer = answers[seen.length];
    seen.push({ key: request.headers['idempotency-key'], body });
    if (answer === 'cut') return void request.socket.destroy();
    const [status = 202, seconds] = typeof answer === 'object' ? answer : [answer];
    response.statusCode = status;
    if (seconds !== undefined) response.setHeader('retry-after', seconds);
    response.end(answer === undefined ? '{"datasetId":"d"}' : '{"message":"no"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as { readonly port: number };
  const file = join(t.testdir({ 'genes.txt': '0123456789' }), 'genes.txt');
  const client = new InstallerClient({ server: `http://127.0.0.1:${port}`, token: 'token' });
  let sent = 0;
  const count = (bytes: number): void => {
    sent += bytes;
  };
  const upload = () => client.upload({ name: 'x' }, { files: [file], sent: count }, signal);
  return { seen, upload, sent: () => sent, close: () => server.close() };
}

t.test('an upload whose connection breaks is sent again, whole and with the same key', async (t) => {
  const { seen, upload, sent } = await setup(t, 'cut', [409, 0], 503);
  t.equal(await upload(), 'd');
  t.equal(seen.length, 4);
  t.equal(new Set(seen.map(({ key }) => key)).size, 1);
  t.match(seen[0]?.key, /^[0-9a-f-]{36}$/);
  for (const { body } of seen) t.match(body, '0123456789');
  t.equal(sent(), 10, 'the progress is that of one upload');
  await upload();
  t.not(seen[4]?.key, seen[3]?.key, 'another upload has another key');
});

t.test('the first answer of a server is not asked for twice', async (t) => {
  for (const status of [409, 422, 503]) {
    const { seen, upload } = await setup(t, status);
    await t.rejects(upload(), { message: `${status}: no` });
    t.equal(seen.length, 1);
  }
  const { upload, close } = await setup(t);
  close();
  await t.rejects(upload(), { message: /ECONNREFUSED/ }, 'nor one that is not there');
});

t.test('a server is asked again when it says, and a conflict only if it says when', async (t) => {
  const failure = (status: number, seconds?: number) =>
    new ApiError(status, 'no', seconds === undefined ? undefined : seconds * 1_000);
  const pausesOf = async (...failures: readonly ApiError[]) => {
    const pauses: number[] = [];
    const patient = { ...systemClock, sleep: async (ms: number) => void pauses.push(ms) };
    const calls = failures[Symbol.iterator]();
    const call = async (): Promise<string> => {
      const { value } = calls.next();
      if (value) throw value;
      return 'made';
    };
    return { answer: await repeating(call, patient, signal).catch((error: ApiError) => error.status), pauses };
  };
  t.same(await pausesOf(failure(409, 5), failure(429, 40)), { answer: 'made', pauses: [5_000, 40_000] });
  t.same(await pausesOf(failure(409)), { answer: 409, pauses: [] }, 'what is to be revised has become another');
  t.same(await pausesOf(failure(429, 3_600)), { answer: 429, pauses: [] }, 'nobody waits for an hour');
  const { seen, upload } = await setup(t, 'cut', [503, 86_400]);
  await t.rejects(upload(), new ApiError(503, '503: no', 86_400_000));
  t.equal(seen.length, 2);
});

t.test('what cannot pass ends the repetitions, and so do fifteen failures in a row', async (t) => {
  let calls = 0;
  const failing = (error: (n: number) => unknown) => () =>
    repeating(
      async () => {
        throw error(++calls);
      },
      clock,
      signal,
    );
  await t.rejects(
    failing((n) => (n < 3 ? transient('away') : rejected('no'))),
    { message: 'no' },
  );
  t.equal(calls, 3);
  calls = 0;
  await t.rejects(
    failing(() => new ApiError(503, 'away')),
    { message: 'away' },
  );
  t.equal(calls, 15);
  t.equal(isLost(transient('refused', { cause: { cause: { code: 'ECONNREFUSED' } } })), false);
});
