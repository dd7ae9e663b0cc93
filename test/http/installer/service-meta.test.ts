import t from 'tap';
import { targetId } from '../../../engine/model/ids.ts';
import { pluginsView } from '../../../http/installer/service-meta.ts';
import { dataTypes } from './installation.ts';

const genelist = {
  name: 'genelist',
  version: '1.0',
  category: 'Gene List',
  maxFileSize: 100_000,
  usesDataProperties: false,
  allowedFileExtensions: ['.txt', '.csv'],
};
const rnaseq = {
  ...genelist,
  name: 'rnaseq',
  category: 'RNA-Seq',
  usesDataProperties: true,
  allowedFileExtensions: [],
};
const vectors = { ...genelist, name: 'vectors', version: '2.0', category: 'Vectors', allowedFileExtensions: [] };

t.test('groups types by plugin, those with other restrictions apart', async (t) => {
  t.strictSame(pluginsView(dataTypes(), undefined, 5e9), [
    { pluginName: 'lists', dataTypes: [genelist] },
    { pluginName: 'rnaseq', dataTypes: [rnaseq] },
    { pluginName: 'lists', dataTypes: [vectors], installTargets: ['VectorSite'] },
  ]);
});

t.test('for a target, only types that apply to it', async (t) => {
  const names = (target: string) =>
    pluginsView(dataTypes(), targetId(target), 5e9).flatMap((plugin) => plugin.dataTypes.map((type) => type.name));
  t.strictSame(names('PlainSite'), ['genelist', 'rnaseq']);
  t.strictSame(names('VectorSite'), ['genelist', 'rnaseq', 'vectors']);
  t.strictSame(names('ClosedSite'), []);
});

t.test('the size of a file is capped by that of an upload', async (t) => {
  t.equal(pluginsView(dataTypes(), undefined, 500)[0]?.dataTypes[0]?.maxFileSize, 500);
});
