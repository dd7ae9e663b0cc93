// Bytes of resumable uploads on Ceph's radosgw.

import { Client } from 'minio';
import t, { type Test } from 'tap';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import { S3UploadBytes } from '../../engine/adapters/s3/s3-upload-bytes.ts';
import { newUploadId } from '../../engine/model/ids.ts';
import { resumableKey } from '../../engine/model/object-key.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { uploadBytesConformance } from '../conformance/upload-bytes.ts';
import { startRadosgw } from './radosgw.ts';
import { s3OptionsOf } from './s3-options.ts';

const radosgw = await startRadosgw(t);
const signal = new AbortController().signal;

async function setup(t: Test) {
  const bucket = await radosgw.makeBucket();
  const options = s3OptionsOf(radosgw, bucket);
  const store = new S3Store(options, { log: silentLogger() });
  const bytes = new S3UploadBytes(options, store, { log: silentLogger() });
  t.teardown(() => {
    bytes[Symbol.dispose]();
    store[Symbol.dispose]();
  });
  const { host: endPoint, port, accessKey, secretKey } = options;
  const client = new Client({ endPoint, port, useSSL: false, accessKey, secretKey, region: 'default' });
  const kept = async (): Promise<readonly string[]> => {
    const keys: string[] = [];
    for await (const { key } of store.list('resumable/', {}, signal)) keys.push(key);
    const { uploads } = await client.listIncompleteUploadsQuery(bucket, '', '', '', '');
    return [...keys, ...uploads.map(({ key, uploadId }) => `${key} ${uploadId}`)];
  };
  return { bucket, bytes, client, store, kept };
}

uploadBytesConformance(t, setup);

t.test('the parts of a large tail, left by a process that died, are removed with the upload', async (t) => {
  const { bucket, bytes, client, kept } = await setup(t);
  const id = newUploadId((array) => array.fill(7));
  for (const key of [resumableKey(id), `${resumableKey(id)}.tail`])
    await client.initiateNewMultipartUpload(bucket, key, {});
  t.equal((await kept()).length, 2);
  await bytes.remove(id, signal);
  t.strictSame(await kept(), []);
});
