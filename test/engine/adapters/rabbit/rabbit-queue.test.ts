import t from 'tap';
import { parseNotification } from '../../../../engine/adapters/rabbit/rabbit-queue.ts';

const parse = (document: unknown) => parseNotification(Buffer.from(JSON.stringify(document)), 'datasets');
const record = (eventSource: string, eventName: string, key: unknown, bucket = 'datasets') => ({
  eventSource,
  eventName,
  s3: { bucket: { name: bucket }, object: { key, size: 1 } },
});
const one = (source: string, name: string, key: unknown) => parse({ Records: [record(source, name, key)] });
const change = (kind: 'created' | 'removed', key: string) => ({
  kind: 'changes',
  changes: [{ kind, key }],
  ignored: 0,
});

t.test('MinIO and AWS write keys as in a form', async (t) => {
  for (const source of ['minio:s3', 'aws:s3'])
    t.same(
      one(source, 's3:ObjectCreated:Put', '1%2Fa%2Fdocuments%2F%C3%BC+b%2Bc%2520.txt'),
      change('created', '1/a/documents/ü b+c%20.txt'),
    );
});

t.test('Ceph writes keys as they are', async (t) => {
  t.same(
    one('ceph:s3', 'ObjectCreated:Put', '1/a/documents/ü b+c%20.txt'),
    change('created', '1/a/documents/ü b+c%20.txt'),
  );
});

t.test('every way to make and to remove an object', async (t) => {
  for (const name of ['Put', 'Post', 'Copy', 'CompleteMultipartUpload'])
    for (const prefix of ['s3:', ''])
      t.same(one('minio:s3', `${prefix}ObjectCreated:${name}`, 'k'), change('created', 'k'));
  for (const name of [
    's3:ObjectRemoved:Delete',
    'ObjectRemoved:DeleteMarkerCreated',
    's3:LifecycleExpiration:Delete',
    'ObjectLifecycle:Expiration:Current',
  ])
    t.same(one('aws:s3', name, 'k'), change('removed', 'k'), name);
});

t.test('several records of one message keep their order', async (t) => {
  const records = ['a', 'b', 'c'].map((key) => record('aws:s3', 'ObjectCreated:Put', key));
  const found = parse({ Records: records });
  t.same(found.kind === 'changes' && found.changes.map(({ key }) => key), ['a', 'b', 'c']);
});

t.test('other buckets, other events and the test message are ignored', async (t) => {
  const nothing = { kind: 'changes', changes: [], ignored: 1 };
  t.same(parse({ Records: [record('aws:s3', 'ObjectCreated:Put', 'k', 'another')] }), nothing);
  t.same(one('minio:s3', 's3:ObjectAccessed:Get', 'k'), nothing);
  t.same(parse({ Service: 'Amazon S3', Event: 's3:TestEvent', Bucket: 'datasets' }), nothing);
  t.same(parse({ Records: [] }), { ...nothing, ignored: 0 });
});

t.test('what is no notification is said', async (t) => {
  const wrong = (document: unknown): string => {
    const found = parse(document);
    return found.kind === 'malformed' ? found.why : '';
  };
  t.equal(wrong([]), 'is not a JSON object');
  t.equal(wrong({}), 'has no list `Records`');
  t.equal(wrong({ Records: ['x'] }), 'Records[0] is not an object');
  t.equal(wrong({ Records: [{ eventName: 7 }] }), 'Records[0].eventName is not a string');
  t.equal(wrong({ Records: [{ eventName: 'ObjectCreated:Put' }] }), 'Records[0].s3.bucket.name is not a string');
  t.equal(
    wrong({ Records: [record('aws:s3', 'ObjectCreated:Put', '')] }),
    'Records[0].s3.object.key is not a non-empty string',
  );
  t.equal(
    wrong({ Records: [record('aws:s3', 'ObjectCreated:Put', '%zz')] }),
    'Records[0].s3.object.key is not URL-encoded',
  );
  for (const content of ['', '{', '\xff'])
    t.same(parseNotification(Buffer.from(content, 'latin1'), 'b'), { kind: 'malformed', why: 'is not JSON' });
});
