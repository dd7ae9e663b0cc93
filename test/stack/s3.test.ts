// The S3 store on Ceph's radosgw.

import t from 'tap';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { objectStoreConformance } from '../conformance/object-store.ts';
import { startRadosgw } from './radosgw.ts';
import { s3OptionsOf } from './s3-options.ts';

const radosgw = await startRadosgw(t);

objectStoreConformance('the S3 store', async (t) => {
  const store = new S3Store(s3OptionsOf(radosgw, await radosgw.makeBucket()), { log: silentLogger() });
  t.teardown(() => store[Symbol.dispose]());
  return { store };
});

objectStoreConformance('the S3 store over TLS', async (t) => {
  const store = new S3Store(s3OptionsOf(radosgw, await radosgw.makeBucket(), 'tls'), { log: silentLogger() });
  t.teardown(() => store[Symbol.dispose]());
  return { store };
});
