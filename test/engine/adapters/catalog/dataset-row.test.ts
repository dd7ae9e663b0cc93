import t from 'tap';
import { installRecords, installsReader, storedMetadata } from '../../../../engine/adapters/catalog/dataset-row.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { type DatasetMetadata, parseMetadata, serializeMetadata } from '../../../../engine/model/metadata.ts';
import { fullMetadataOf, metadataOf, newAddress } from '../../../support/dataset-samples.ts';

t.test('lines of installs that come again are read as if for the first time', async (t) => {
  const lines = [
    'A\tdata\tcomplete\nA\tmeta\tcomplete',
    'A\tdata\tcomplete\nA\tmeta\tcomplete',
    'A\tdata\tfailed-installation\t["no\\tspace","left"]',
    'A\tdata\tcomplete\nA\tmeta\tcomplete',
  ];
  const read = installsReader();
  t.strictSame(lines.map(read), lines.map(installRecords));
  t.strictSame(installRecords(lines[2] ?? ''), [
    { target: 'A', kind: 'data', status: 'failed-installation', messages: ['no\tspace', 'left'] },
  ]);
});

t.test('reads what the general reader reads', async (t) => {
  const { owner, dataset } = newAddress();
  const full = fullMetadataOf(owner, dataset);
  const small = metadataOf('7' as UserId);
  for (const metadata of [full, small]) {
    const text = serializeMetadata(metadata);
    t.strictSame(storedMetadata(dataset, metadata.owner, text), metadata);
    t.strictSame(storedMetadata(dataset, metadata.owner, text), parseMetadata(text, 'test'));
  }
});

t.test('an owner that is not the one of the row is kept as the document says', async (t) => {
  const { owner, dataset } = newAddress();
  const text = serializeMetadata(metadataOf('12345' as UserId));
  t.equal(storedMetadata(dataset, owner, text).owner, '12345');
  const asText = { ...JSON.parse(text), owner: 'nobody' } as DatasetMetadata;
  t.equal(storedMetadata(dataset, owner, JSON.stringify(asText)).owner, 'nobody');
});
