// Plugin servers with readers that know a closed set of fields, and a buffer of 16 KiB.

import { join } from 'node:path';
import t from 'tap';
import { PluginHttp } from '../../../../engine/adapters/plugins/plugin-http.ts';
import type { DatasetId } from '../../../../engine/model/ids.ts';
import { type DatasetMetadata, parseMetadata, serializeMetadata } from '../../../../engine/model/metadata.ts';
import { pluginMetadata } from '../../../../engine/model/plugin-metadata.ts';
import { strictServer } from '../../../compatibility/plugins/strict-server.ts';
import {
  PLUGIN_TARGET,
  PLUGIN_TYPE,
  pluginMetadata as sample,
  textFile,
  zipPayload,
} from '../../../conformance/plugin-client.ts';

const signal = new AbortController().signal;
const SCRIPT_MS = { import: 10_000, installData: 10_000, installMeta: 10_000, uninstall: 10_000 };
const described = { description: 'more' };

/** Every field that metadata may have. */
const FULL: Omit<DatasetMetadata, 'firstPublished'> = {
  ...sample('Genes', true),
  visibility: 'public',
  description: 'Größe λ 🧬',
  sourceUrl: 'https://files.example/genes.txt',
  publications: [{ identifier: '12345', type: 'pmid', citation: 'A. B.', isPrimary: true }],
  contacts: [
    {
      ...{ firstName: 'Ann', middleName: 'B.', lastName: 'C', email: 'a@b.example', affiliation: 'D', country: 'E' },
      isPrimary: true,
    },
  ],
  shortAttribution: 'Ann et al.',
  projectName: 'p',
  programName: 'q',
  linkedDatasets: [{ datasetUri: 'https://x.example/ds', sharesRecords: true }],
  experimentalOrganism: { species: 'P. falciparum', strain: '3D7' },
  hostOrganism: { species: 'H. sapiens', strain: 'none' },
  datasetCharacteristics: {
    ...{ studyDesign: 'a', studyType: 'b', countries: ['c'], years: { start: 1999, end: 2001 }, studySpecies: ['d'] },
    ...{ outcomes: ['e'], associatedFactors: ['f'], participantAges: 'g', sampleTypes: ['h'] },
  },
  externalIdentifiers: {
    dois: [{ doi: '10.1/x', ...described }],
    hyperlinks: [{ url: 'https://x.example', ...described }],
    bioprojectIds: [{ id: 'PRJ1', ...described }],
  },
  funding: [{ agency: 'a', awardNumber: '1' }],
  revisionHistory: {
    originalId: 'ds1' as DatasetId,
    revisions: [
      { action: 'create', timestamp: '2026-01-01T00:00:00.000Z', revisionId: 'ds1' as DatasetId, revisionNote: 'x' },
    ],
  },
  dataDisclaimer: 'none',
  datasetSources: [{ url: 'https://x.example', version: '1' }],
};
const PUBLISHED: DatasetMetadata = { ...FULL, firstPublished: '2026-01-01T00:00:00.000Z' };

t.test('a plugin server that refuses unknown fields takes every call about a public dataset', async (t) => {
  const { port, calls } = await strictServer(t);
  await using client = new PluginHttp({ baseUrl: `http://127.0.0.1:${port}`, scriptMs: SCRIPT_MS });
  const call = { eventId: 1, dataset: 'ds1' as DatasetId, target: PLUGIN_TARGET, metadata: PUBLISHED };
  const payload = await zipPayload(t.testdir({}), { 'genes.txt': 'a' });
  const properties = [textFile('p.tsv', 'x')];
  const replies = [
    await client.import({ ...call, payload, replyFile: join(t.testdirName, 'reply.zip') }, signal),
    await client.installData(
      { ...call, manifest: '{"rawUploads":[]}', payload: textFile('x', 'PK'), properties },
      signal,
    ),
    await client.installMeta({ ...call, properties }, signal),
    await client.uninstall({ ...call, type: PLUGIN_TYPE }, signal),
  ];
  t.strictSame(
    calls.map(({ path, fault }) => [path, fault]),
    ['/import', '/install/data', '/install/meta', '/uninstall'].map((path) => [path, undefined]),
  );
  t.strictSame(
    replies.map(({ kind }) => kind),
    Array(4).fill('success'),
  );
});

t.test('what is known reaches the plugin unchanged, and nothing else does', async (t) => {
  const foreign = {
    ...PUBLISHED,
    ofAnotherInstaller: 1,
    type: { ...PUBLISHED.type, name: 'testtype', ours: 2 },
    hostOrganism: null,
  };
  const text = pluginMetadata(foreign as unknown as DatasetMetadata);
  const { hostOrganism: _none, ...rest } = FULL;
  t.strictSame(parseMetadata(text, 'sent'), parseMetadata(serializeMetadata(rest as DatasetMetadata), 'kept'));
  t.notMatch(text, /firstPublished|ofAnotherInstaller|ours|null/);
  t.notMatch(text, /\n/);
});

t.test('what fits into 16 KiB without blanks is not sent with more', async (t) => {
  const { port, calls } = await strictServer(t);
  await using client = new PluginHttp({ baseUrl: `http://127.0.0.1:${port}`, scriptMs: SCRIPT_MS });
  const contacts = Array.from({ length: 110 }, (_, n) => ({
    firstName: `First ${n}`,
    lastName: `Last ${n}`,
    affiliation: 'Some place',
    country: 'X',
    isPrimary: n === 0,
  }));
  const metadata = { ...PUBLISHED, contacts };
  t.ok(Buffer.byteLength(serializeMetadata(metadata)) > 16_384, 'as it is stored it has more');
  const call = { eventId: 1, dataset: 'ds1' as DatasetId, target: PLUGIN_TARGET, metadata, properties: [] };
  t.match(await client.installMeta(call, signal), { kind: 'success' });
  const [{ bytes, fault } = {}] = calls;
  t.equal(fault, undefined);
  t.ok(bytes && bytes < 14_000, `${bytes} bytes`);
});
