import t from 'tap';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import { pluginMetadata } from '../../../engine/model/plugin-metadata.ts';
import { callIds, checkImport, sentInDetails, sentMetadata } from '../../../engine/model/plugin-requests.ts';
import { parseInstallData, parseInstallMeta } from '../../../http/plugin-host/request-documents.ts';
import { pluginMetadata as sample } from '../../conformance/plugin-client.ts';

/** With fields that plugins do not get, fields without a value, and text that a careless parser would change. */
const ODD = {
  ...sample('a "name" \\u0041 \u0041'),
  description: '{"owner": "12"}\n\ud83e\uddec \ud800',
  firstPublished: '2024-02-03T04:05:06.000Z',
  sourceUrl: undefined,
  projectName: null,
  datasetCharacteristics: { years: { start: -1e21, end: 0.1 }, countries: [], mood: 'unknown' },
  revisionHistory: {
    originalId: 'a',
    revisions: [{ action: 'create', timestamp: '', revisionId: 'a', revisionNote: '' }],
  },
} as unknown as DatasetMetadata;

t.test('the metadata of a stored dataset is the document that its plugin would be sent', async (t) => {
  for (const metadata of [sample('plain', true), ODD]) {
    const text = pluginMetadata(metadata);
    const ids = '"event-id":5,"vdi-id":"one","install-target":"AlphaDB"';
    const parts = { details: `{${ids}}`, meta: text, manifest: '{}' };
    t.strictSame(sentMetadata(metadata), parseInstallData(parts).meta);
    t.strictSame(sentInDetails(metadata), parseInstallMeta(`{${ids},"meta":${text}}`).meta);
    t.equal(sentMetadata(metadata).text, text);
    t.match(sentInDetails(metadata).text, /\n {2}"owner": 9223372036854775807,\n/);
  }
});

t.test('ids and metadata that scripts could misread are refused', async (t) => {
  for (const [event, dataset, message] of [
    [1, '-rf', /must not begin with '-'/],
    [1, 'a/b', /'vdi-id' is 'a\/b'/],
    [1, undefined, /'vdi-id' is missing/],
    [-1, 'ok', /'event-id' is '-1'; it must be a number/],
    ['1', 'ok', /'event-id' is '1'; it must be a number/],
  ] as const)
    t.throws(() => callIds(event, dataset), { kind: 'rejected', message });
  t.strictSame(callIds(0, 'ok-1'), { event: 0, dataset: 'ok-1' });
  const dependency = { resourceIdentifier: 'a\nb', resourceDisplayName: 'x', resourceVersion: '1' };
  t.throws(() => sentMetadata({ ...sample('x'), dependencies: [dependency] }), {
    ...{ kind: 'rejected', message: /'meta\.dependencies\[0\]\.resourceIdentifier'/ },
  });
  const unnamed = { resourceIdentifier: 'a', resourceDisplayName: ' ', resourceVersion: '1' };
  const meta = sentInDetails({ ...sample('x'), dependencies: [unnamed] });
  t.throws(() => checkImport(meta), {
    kind: 'rejected',
    message: /'meta\.dependencies\[0\]\.resourceDisplayName' is ' '/,
  });
});
