import t from 'tap';
import { installRecords, installsReader } from '../../../../engine/adapters/catalog/dataset-row.ts';

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
