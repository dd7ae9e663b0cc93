import t from 'tap';
import { controlRows } from '../../../../engine/adapters/sites/control-rows.ts';
import type { Publication } from '../../../../engine/model/metadata.ts';
import { metadata } from '../../../http/installer/datasets.ts';

t.test('a publication that does not say so is not the primary one', async (t) => {
  // Documents of other installers may lack it.
  const publications = [
    { identifier: '1', type: 'pmid' },
    { identifier: '10.1/x', type: 'doi', isPrimary: true },
  ] as unknown as Publication[];
  const rows = controlRows(metadata({ publications })).find(({ table }) => table === 'dataset_publication');
  t.strictSame(
    rows?.rows.map((row) => [row.includes(true), row.includes(false)]),
    [
      [false, true],
      [true, false],
    ],
  );
});
