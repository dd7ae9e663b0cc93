// The S3 store on MinIO: plain, over TLS, with the bucket in the host name, and in a bucket that keeps old versions.

import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import type { S3Options } from '../../engine/adapters/s3/s3-connection.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import { S3UploadBytes } from '../../engine/adapters/s3/s3-upload-bytes.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { objectStoreConformance } from '../conformance/object-store.ts';
import { uploadBytesConformance } from '../conformance/upload-bytes.ts';
import { startMinio } from './minio.ts';
import { s3OptionsOf } from './s3-options.ts';

/** Objects of the long listing. A million of them take minutes to put. */
const LISTED = Number(process.env.LONGSHORE_LISTED_OBJECTS ?? 5_000);
const AT_ONCE = 64;
const MIB = 1024 * 1024;
const DOMAIN = 's3.test';
const signal = new AbortController().signal;

const [plain, tls] = await Promise.all([startMinio(t, { domain: DOMAIN }), startMinio(t, { tls: true })]);
answerForDomain(t);

const opened = (t: Test, options: S3Options): S3Store => {
  const store = new S3Store(options, { log: silentLogger() });
  t.teardown(() => store[Symbol.dispose]());
  return store;
};
const plainOptions = async (): Promise<S3Options> => s3OptionsOf(plain, await plain.makeBucket());

objectStoreConformance('the S3 store on MinIO', async (t) => ({ store: opened(t, await plainOptions()) }));

objectStoreConformance('the S3 store on MinIO over TLS', async (t) => ({
  store: opened(t, s3OptionsOf(tls, await tls.makeBucket(), 'tls')),
}));

objectStoreConformance('the S3 store on MinIO with the bucket in the host name', async (t) => ({
  store: opened(t, { ...(await plainOptions()), host: DOMAIN, pathStyle: false }),
}));

objectStoreConformance('the S3 store on MinIO in a versioned bucket', async (t) => {
  const options = await plainOptions();
  await plain.client().setBucketVersioning(options.bucket, { Status: 'Enabled' });
  return { store: opened(t, options) };
});

t.test('bytes of resumable uploads on MinIO', async (t) => {
  uploadBytesConformance(t, async (t) => {
    const options = await plainOptions();
    const store = opened(t, options);
    const bytes = new S3UploadBytes(options, store, { log: silentLogger() });
    t.teardown(() => bytes[Symbol.dispose]());
    const before = new Set(plain.unfinishedUploads());
    const kept = async (): Promise<readonly string[]> => {
      const objects = await Array.fromAsync(store.list('resumable/', {}, signal), ({ key }) => key);
      return [...objects, ...plain.unfinishedUploads().filter((upload) => !before.has(upload))];
    };
    return { bytes, store, kept };
  });
});

t.test('a versioned bucket keeps what was replaced and removed, and the store shows neither', async (t) => {
  const options = await plainOptions();
  const client = plain.client();
  await client.setBucketVersioning(options.bucket, { Status: 'Enabled' });
  const store = opened(t, options);
  await store.put('1/a/x', Buffer.from('old'), {}, signal);
  const put = await store.put('1/a/x', Buffer.from('new'), {}, signal);
  t.strictSame(await Array.fromAsync(store.list('', {}, signal)), [put]);
  await store.remove(['1/a/x'], signal);
  t.strictSame(await Array.fromAsync(store.list('', {}, signal)), []);
  t.equal(await store.head('1/a/x', signal), undefined);
  const versions = await client.listObjects(options.bucket, '', true, { IncludeVersion: true }).toArray();
  t.equal(versions.length, 3, 'two contents and a mark of the removal, for whoever restores a backup');
});

const untrusted = { ca: readFileSync(plain.certificate.caFile, 'utf8'), rejectUnauthorized: true };
for (const [what, changes, message] of [
  ['a wrong secret key', { secretKey: 'a-wrong-secret' }, /check accessToken and secretKey \(SignatureDoesNotMatch\)/],
  ['an unknown access key', { accessKey: 'a-wrong-key' }, /does not know accessToken.* \(InvalidAccessKeyId\)/],
  ['a bucket that is missing', { bucket: 'none-of-ours' }, /there is no such bucket.* \(NoSuchBucket\)/],
  ['TLS that it does not speak', { tls: untrusted }, /it does not speak TLS as asked/],
  ['an untrusted certificate', { port: tls.port, tls: untrusted }, /its certificate is not trusted/],
] as const satisfies readonly [string, Partial<S3Options>, RegExp][])
  t.test(`${what} is told of MinIO as of any store`, async (t) => {
    const store = opened(t, { ...(await plainOptions()), ...changes });
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      put: () => store.put('1/a/x', Buffer.from('x'), {}, signal),
      'put in parts': () => store.put('1/a/x', Readable.from([Buffer.alloc(9 * MIB)]), {}, signal),
      get: () => store.get('1/a/x', undefined, signal),
      head: () => store.head('1/a/x', signal),
      list: () => Array.fromAsync(store.list('', {}, signal)),
      remove: () => store.remove(['1/a/x'], signal),
    };
    for (const [name, call] of Object.entries(calls))
      await t.rejects(call(), { kind: 'transient', unreachable: true, message }, name);
  });

t.test('names of the greatest length are stored, listed and removed', async (t) => {
  const store = opened(t, await plainOptions());
  const key = `1/${'d'.repeat(64)}/raw/${'\u{1f600}'.repeat(63)}.gz`;
  const put = await store.put(key, Buffer.from('x'), {}, signal);
  t.strictSame(await Array.fromAsync(store.list('1/', {}, signal)), [put]);
  await store.remove([key], signal);
  t.equal(await store.head(key, signal), undefined);
});

t.test(`a listing of ${LISTED} objects is complete, in order, and holds one page`, async (t) => {
  const options = await plainOptions();
  const client = plain.client();
  const keyOf = (n: number): string => `${1 + (n % 7)}/${String(n).padStart(7, '0')}/x`;
  let next = 0;
  const putter = async (): Promise<void> => {
    while (next < LISTED) await client.putObject(options.bucket, keyOf(next++), 'x');
  };
  await Promise.all(Array.from({ length: AT_ONCE }, putter));
  const store = opened(t, options);
  const begun = performance.now();
  let count = 0;
  let last = '';
  let inOrder = true;
  for await (const { key } of store.list('', {}, signal)) {
    inOrder &&= key > last;
    last = key;
    count++;
  }
  t.equal(count, LISTED);
  t.ok(inOrder);
  t.comment(`${Math.round((1000 * count) / (performance.now() - begun))} objects a second`);
});

/** No name server knows the domain. */
function answerForDomain(t: Test): void {
  const { lookup } = dns;
  const known = (name: string): boolean => name === DOMAIN || name.endsWith(`.${DOMAIN}`);
  dns.lookup = ((name: string, options: dns.LookupOptions, done: (...found: unknown[]) => void) => {
    if (!known(name)) return lookup(name, options, done as never);
    if (options.all) done(null, [{ address: plain.host, family: 4 }]);
    else done(null, plain.host, 4);
  }) as typeof dns.lookup;
  t.teardown(() => {
    dns.lookup = lookup;
  });
}
