// What goes wrong with an S3 store: keys, buckets and certificates that do not fit, and a server that hangs or dies in the
// middle. Every failure says where and what to check, keeps the job, and gives no secret away.

import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import t, { type Test } from 'tap';
import { S3_TIMES, type S3Times } from '../../engine/adapters/s3/s3-call.ts';
import type { S3Options } from '../../engine/adapters/s3/s3-connection.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { freePort } from '../support/ports.ts';
import { startRadosgw } from './radosgw.ts';
import { s3OptionsOf } from './s3-options.ts';

const MIB = 1024 * 1024;
const signal = new AbortController().signal;
const radosgw = await startRadosgw(t, { killed: true });

async function setup(t: Test, changes: Partial<S3Options> = {}, times: Partial<S3Times> = {}) {
  const options = { ...s3OptionsOf(radosgw, await radosgw.makeBucket()), ...changes };
  const store = new S3Store(options, { log: silentLogger(), times: { ...S3_TIMES, ...times } });
  t.teardown(() => store[Symbol.dispose]());
  return { store, bucket: options.bucket };
}

/** Every method, each on its own. */
const calls = (store: S3Store): Record<string, () => Promise<unknown>> => ({
  put: () => store.put('1/a/x', Buffer.from('x'), {}, signal),
  'put of a stream': () => store.put('1/a/x', Readable.from([Buffer.alloc(3 * MIB)]), { size: 3 * MIB }, signal),
  'put of parts': () => store.put('1/a/x', Readable.from([Buffer.alloc(9 * MIB)]), {}, signal),
  get: () => store.get('1/a/x', undefined, signal),
  head: () => store.head('1/a/x', signal),
  list: () => Array.fromAsync(store.list('', {}, signal)),
  remove: () => store.remove(['1/a/x'], signal),
  probe: () => store.probe(signal),
});

async function allFail(t: Test, store: S3Store, message: RegExp): Promise<void> {
  for (const [name, call] of Object.entries(calls(store))) {
    const error = await call().then(
      () => new Error('it succeeded'),
      (error: Error) => error,
    );
    t.match(error, { kind: 'transient', unreachable: true, message }, name);
    const all = inspect(error, { depth: 20, showHidden: true });
    for (const secret of [radosgw.secretKey, radosgw.accessKey, 'a-wrong-secret', 'a-wrong-key', 'Signature='])
      t.notOk(all.includes(secret), `${name} keeps ${secret.slice(0, 4)}.. for itself`);
  }
}

t.test('a wrong secret key', async (t) => {
  const { store, bucket } = await setup(t, { secretKey: 'a-wrong-secret' });
  await allFail(
    t,
    store,
    new RegExp(`bucket ${bucket}: .*check accessToken and secretKey \\(SignatureDoesNotMatch\\)`),
  );
});

t.test('an unknown access key', async (t) => {
  const { store, bucket } = await setup(t, { accessKey: 'a-wrong-key' });
  await allFail(t, store, new RegExp(`bucket ${bucket}: .*does not know accessToken.* \\(InvalidAccessKeyId\\)`));
});

t.test('a bucket of somebody else', async (t) => {
  const { store } = await setup(t, await radosgw.strangersBucket());
  await allFail(t, store, /refuses access; check that the user of accessToken may .* \(AccessDenied\)/);
});

t.test('a bucket that does not exist, whose objects are not just absent', async (t) => {
  const { store } = await setup(t, { bucket: 'nowhere-to-be-found' });
  await allFail(t, store, /bucket nowhere-to-be-found: .*no such bucket.*check bucketName \(NoSuchBucket\)/);
});

t.test('a certificate that nobody vouches for', async (t) => {
  const tls = s3OptionsOf(radosgw, await radosgw.makeBucket(), 'tls');
  const { store } = await setup(t, { port: tls.port, tls: { rejectUnauthorized: true } });
  await allFail(t, store, /certificate is not trusted .*check tlsOptions\.caFile/);
  const { store: careless } = await setup(t, { port: tls.port, tls: { rejectUnauthorized: false } });
  await t.resolves(careless.probe(signal), 'unless verification is switched off');
});

t.test('TLS where there is none, and none where there is', async (t) => {
  const { store } = await setup(t, { tls: { rejectUnauthorized: true } });
  await allFail(t, store, /does not speak TLS as asked|cut off/);
  const { store: plain } = await setup(t, { port: radosgw.tlsPort });
  await allFail(t, plain, /cut off|no HTTP|busy or away|check server/);
});

t.test('nobody at the address, or no such name', async (t) => {
  const { store } = await setup(t, { port: await freePort() });
  await allFail(t, store, /bucket b-\w+: .*not reached \(ECONNREFUSED\)/);
  const { store: unnamed } = await setup(t, { host: 'store.invalid' });
  await allFail(t, unnamed, /object store store\.invalid:\d+, .*not reached \((ENOTFOUND|EAI_AGAIN)\)/);
});

t.test('a server that is killed', async (t) => {
  t.afterEach(() => radosgw.startGateway());

  for (const [name, size] of [
    ['known', 300 * MIB],
    ['unknown', undefined],
  ] as const) {
    t.test(`in the middle of a put of ${name} length`, async (t) => {
      const { store, bucket } = await setup(t);
      await store.put('1/a/x', Buffer.from('old'), {}, signal);
      const source = blocks(300, (i) => (i === 50 ? radosgw.killGateway() : undefined));
      await t.rejects(store.put('1/a/x', source, size === undefined ? {} : { size }, signal), {
        kind: 'transient',
        unreachable: true,
        message: /putting 1\/a\/x: (cut off|not reached)/,
      });
      t.ok(source.destroyed);
      await radosgw.startGateway();
      const kept = await store.get('1/a/x', undefined, signal);
      t.equal((await buffer(kept?.body ?? Readable.from([]))).toString(), 'old');
      const left = await unfinished(bucket);
      t.equal(left.length, size === undefined ? 1 : 0, 'parts stay where nobody could be told to remove them');
    });
  }

  t.test('in the middle of a get', async (t) => {
    const { store } = await setup(t);
    await store.put('1/a/x', Buffer.alloc(80 * MIB), {}, signal);
    const body = (await store.get('1/a/x', undefined, signal))?.body ?? Readable.from([]);
    await once(body, 'readable');
    await radosgw.killGateway();
    await t.rejects(buffer(body), { kind: 'transient', unreachable: true, message: /reading 1\/a\/x: cut off/ });
  });

  t.test('between two requests on one connection', async (t) => {
    const { store } = await setup(t);
    await store.put('1/a/x', Buffer.from('x'), {}, signal);
    await radosgw.killGateway();
    await radosgw.startGateway();
    t.match(await store.head('1/a/x', signal), { size: 1 });
    await radosgw.killGateway();
    await t.rejects(store.probe(signal), { kind: 'transient', message: /not reached/ });
  });
});

t.test('a server that hangs', async (t) => {
  const impatient = { answerMs: 400, idleMs: 400, graceMs: 300 };
  /** For what is begun before it hangs. */
  const patient = { idleMs: 2_500, graceMs: 300 };
  t.afterEach(() => radosgw.continue());

  t.test('before it answers', async (t) => {
    const { bucket, store: before } = await setup(t);
    await before.put('1/a/x', Buffer.from('x'), {}, signal);
    const { store } = await setup(t, { bucket }, impatient);
    radosgw.pause();
    await allFail(t, store, /the store did not give an answer for 400 ms|room for more/);
  });

  for (const [name, size] of [
    ['known', 100 * MIB],
    ['unknown', undefined],
  ] as const) {
    t.test(`in the middle of a put of ${name} length`, async (t) => {
      const { store, bucket } = await setup(t, {}, impatient);
      const source = blocks(100, (i) => (i === 30 ? radosgw.pause() : undefined));
      const failed = { kind: 'transient', unreachable: true, message: /the store did not give .* for 400 ms/ };
      const put = store.put('1/a/x', source, size === undefined ? {} : { size }, signal);
      // What the adapter tells it to remove waits in its queue.
      put.catch(() => radosgw.continue());
      await t.rejects(put, failed);
      t.ok(source.destroyed);
      radosgw.continue();
      t.equal(await store.head('1/a/x', signal), undefined);
      t.strictSame((await unfinished(bucket)).length <= 1, true);
    });
  }

  t.test('in the middle of a get', async (t) => {
    const { store } = await setup(t, {}, patient);
    await store.put('1/a/x', Buffer.alloc(80 * MIB), {}, signal);
    const body = (await store.get('1/a/x', undefined, signal))?.body ?? Readable.from([]);
    await once(body, 'readable');
    radosgw.pause();
    const failed = { kind: 'transient', unreachable: true, message: /the store sent nothing for 2500 ms/ };
    await t.rejects(buffer(body), failed);
  });

  t.test('is let go of at once when the signal aborts, but not a change that it has in full', async (t) => {
    const { store } = await setup(t, {}, { graceMs: 300 });
    await store.put('1/a/x', Buffer.from('x'), {}, signal);
    const before = sockets();
    const reading = await store.get('1/a/x', undefined, signal);
    reading?.body.destroy();
    radosgw.pause();
    const stop = new AbortController();
    const waiting: Promise<unknown>[] = [
      store.head('1/a/x', stop.signal),
      store.get('1/a/x', undefined, stop.signal),
      Array.fromAsync(store.list('', {}, stop.signal)),
      store.probe(stop.signal),
      store.put('1/a/y', blocks(100), { size: 100 * MIB }, stop.signal),
      store.put('1/a/y', blocks(100), {}, stop.signal),
    ];
    const removal = store.remove(['1/a/x'], stop.signal);
    const ends = Promise.allSettled([...waiting, removal]);
    stop.abort(new Error('enough'));
    const reasons = (await ends).map((end) => (end.status === 'rejected' ? end.reason : end));
    t.strictSame(
      reasons.slice(0, -1),
      waiting.map(() => new Error('enough')),
    );
    t.match(reasons.at(-1), { kind: 'transient', message: /did not give whether it was done, which is unknown now/ });
    for (let turn = 0; turn < 100 && sockets() > before; turn++) await setImmediate();
    t.ok(sockets() <= before, 'no connection stays open');
  });
});

const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

async function unfinished(bucket: string) {
  return Array.fromAsync(radosgw.client().listIncompleteUploads(bucket, '', true));
}

/** A stream of so many MiB; `at` is told before each. */
function blocks(count: number, at: (i: number) => unknown = () => undefined): Readable {
  const block = Buffer.alloc(MIB, 'b');
  return Readable.from(
    (async function* () {
      for (let i = 0; i < count; i++) {
        await at(i);
        yield block;
      }
    })(),
  );
}
