import t from 'tap';
import { storedMetadata } from '../../../../engine/adapters/catalog/stored-metadata.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { type DatasetMetadata, parseMetadata, serialiseMetadata } from '../../../../engine/model/metadata.ts';
import { fullMetadataOf, metadataOf, newAddress } from '../../../support/dataset-samples.ts';

t.test('reads what the general reader reads', async (t) => {
  const { owner, dataset } = newAddress();
  const full = fullMetadataOf(owner, dataset);
  const small = metadataOf('7' as UserId);
  for (const metadata of [full, small]) {
    const text = serialiseMetadata(metadata);
    t.strictSame(storedMetadata(dataset, metadata.owner, text), metadata);
    t.strictSame(storedMetadata(dataset, metadata.owner, text), parseMetadata(text, 'test'));
  }
});

t.test('an owner that is not the one of the row is kept as the document says', async (t) => {
  const { owner, dataset } = newAddress();
  const text = serialiseMetadata(metadataOf('12345' as UserId));
  t.equal(storedMetadata(dataset, owner, text).owner, '12345');
  const asText = { ...JSON.parse(text), owner: 'nobody' } as DatasetMetadata;
  t.equal(storedMetadata(dataset, owner, JSON.stringify(asText)).owner, 'nobody');
});
