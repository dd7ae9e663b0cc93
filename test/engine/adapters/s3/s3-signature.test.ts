// What is signed by ourselves beside what the client signs: the same to the last byte.

import type { IncomingMessage, RequestOptions } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { Client } from 'minio';
import t from 'tap';
import { listingQuery, placeOf } from '../../../../engine/adapters/s3/s3-listing.ts';
import { S3Signature } from '../../../../engine/adapters/s3/s3-signature.ts';

interface Store {
  readonly endPoint: string;
  readonly port: number;
  readonly useSSL: boolean;
  readonly pathStyle: boolean;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** What the client gives to its transport for each of the queries. */
async function composed(store: Store, queries: readonly string[]): Promise<readonly RequestOptions[]> {
  const asked: RequestOptions[] = [];
  const request = (options: RequestOptions, answered: (response: IncomingMessage) => void): PassThrough => {
    asked.push(options);
    answered(Object.assign(Readable.from([]), { statusCode: 200, headers: {} }) as unknown as IncomingMessage);
    return new PassThrough();
  };
  const client = new Client({ ...store, transport: { request } as never, retryOptions: { disableRetry: true } });
  client.enableSHA256 = false;
  const to = { method: 'GET', bucketName: 'bucket', headers: {} };
  for (const query of queries)
    await client.makeRequestStreamAsync({ ...to, query }, '', '', [200], client.region as string);
  return asked;
}

const timeOf = ({ headers }: RequestOptions): Date => {
  const { 'x-amz-date': time } = headers as Record<string, string>;
  return new Date(String(time).replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
};

const word = fc.string({ unit: fc.constantFrom('a', 'B', '0', '/', '+', '=', '-', ' '), minLength: 1, maxLength: 40 });
const key = fc.string({ unit: fc.constantFrom('a', '/', '&', '=', '+', ' ', '%', 'ä', '*'), maxLength: 12 });
const query = fc.tuple(key, fc.option(key, { nil: undefined })).map(([prefix, after]) => {
  return listingQuery(prefix, after === undefined ? undefined : placeOf(after));
});
const store: fc.Arbitrary<Store> = fc.record({
  endPoint: fc.constantFrom('127.0.0.1', 'store.example.org', 's3.amazonaws.com'),
  port: fc.constantFrom(80, 443, 9000),
  useSSL: fc.boolean(),
  pathStyle: fc.boolean(),
  region: fc.constantFrom('eu', 'us-east-1', 'eu-west-3'),
  accessKey: word,
  secretKey: word,
});

t.test('a request like another is what the client makes of it', async (t) => {
  const property = fc.asyncProperty(store, fc.array(query, { minLength: 2, maxLength: 4 }), async (at, queries) => {
    const [first, ...others] = await composed(at, queries);
    const signature = S3Signature.like(first as RequestOptions, at.secretKey);
    t.strictSame(
      others.map((options, n) => signature?.options(queries[n + 1] as string, timeOf(options))),
      others,
    );
  });
  await fc.assert(property, { numRuns: 200, seed: 20_260_101 });
});

t.test('a new day has a new key', async (t) => {
  const at: Store = {
    ...{ endPoint: '127.0.0.1', port: 9000, useSSL: false, pathStyle: true, region: 'eu' },
    ...{ accessKey: 'planted-access', secretKey: 'planted-secret' },
  };
  const queries = [listingQuery('', undefined), listingQuery('1/', undefined)];
  const [first, second] = (await composed(at, queries)) as [RequestOptions, RequestOptions];
  const signature = S3Signature.like(first, at.secretKey);
  const tomorrow = new Date(timeOf(second).getTime() + 86_400_000);
  t.notSame(signature?.options(queries[1] as string, tomorrow).headers, second.headers);
  t.strictSame(signature?.options(queries[1] as string, timeOf(second)), second);
});

t.test('what is not signed as expected has no like', async (t) => {
  for (const headers of [{}, { authorization: 'Basic YTpi' }, { authorization: 'AWS4-HMAC-SHA256 Credential=a/b/c' }])
    t.equal(S3Signature.like({ method: 'GET', path: '/bucket', headers }, 'planted-secret'), undefined);
});
