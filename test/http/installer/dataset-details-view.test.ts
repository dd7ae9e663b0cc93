import t from 'tap';
import type { ApiVersion } from '../../../engine/model/api-version.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import { datasetDetails } from '../../../http/installer/dataset-details.ts';
import { fileListing } from '../../../http/installer/files/files.ts';
import { DATASET, FRIEND, metadata, share, viewed } from './datasets.ts';
import { dataTypes, OWNER } from './installation.ts';

const noFiles = { upload: [], install: [], documents: [], properties: [] };

function view(version: ApiVersion, viewer = OWNER) {
  return {
    viewer,
    versionNamed: true,
    version,
    profiles: new Map(),
    dataTypes: dataTypes(),
    installs: [],
    related: [],
    files: fileListing(noFiles, undefined, { upload: undefined, install: undefined }, version),
    baseUrl: 'https://x.org/api',
  };
}
const nobody = (userId: string) => ({ userId, firstName: '', lastName: '', email: '', affiliation: '' });

t.test('shows the metadata, what is computed from it, status and files', async (t) => {
  const dataset = viewed({
    import: undefined,
    metadata: metadata({
      name: 'A name of more than 20 characters',
      visibility: 'protected',
      daysForApproval: 30,
      datasetCharacteristics: { studyType: 'x' },
      dataDisclaimer: 'none',
      datasetSources: [{ url: 'http://abc.de', version: '1' }],
      sourceUrl: 'http://abc.de/file.txt',
      firstPublished: '2030-01-02T03:04:05.678Z',
    }),
    shares: [share(FRIEND, false, true)],
  });
  const shown = datasetDetails(dataset, view('1.8.0'));
  t.strictSame(shown, {
    datasetId: DATASET,
    installTargets: ['PlainSite', 'GenomeSite'],
    name: 'A name of more than 20 characters',
    summary: 'Genes that I like',
    origin: 'direct-upload',
    type: { name: 'genelist', version: '1.0', category: 'Gene List' },
    visibility: 'protected',
    owner: nobody(OWNER),
    created: '2030-01-02T03:04:05.678Z',
    daysForApproval: 30,
    dependencies: [],
    datasetCharacteristics: { studyType: 'x' },
    dataDisclaimer: 'none',
    datasetSources: [{ url: 'http://abc.de', version: '1' }],
    sourceUrl: 'http://abc.de/file.txt',
    shortName: 'A name of more than',
    revisionHistory: {
      originalId: DATASET,
      revisions: [
        {
          action: 'create',
          timestamp: '2030-01-02T03:04:05.678Z',
          revisionId: DATASET,
          revisionNote: 'Initial upload',
          fileListUrl: `https://x.org/api/datasets/${DATASET}/files`,
        },
      ],
    },
    relatedDatasets: [],
    shares: [{ recipient: nobody(FRIEND), status: 'revoke' }],
    status: { upload: { status: 'success' }, import: { status: 'queued' }, install: [] },
    files: { upload: { zipSize: -1, contents: [] }, documents: [], datasetProperties: [] },
  });

  const old = datasetDetails(dataset, view('1.7.0')) as unknown as Record<string, unknown>;
  const { datasetCharacteristics, daysForApproval, dataDisclaimer, datasetSources, ...same } =
    shown as unknown as Record<string, unknown>;
  t.strictSame(old, {
    ...same,
    studyCharacteristics: { studyType: 'x' },
    files: { upload: { zipSize: -1, contents: [] }, documents: [], variableProperties: [] },
  });
});

t.test('shares are shown to the owner alone', async (t) => {
  const dataset = viewed({ shares: [share(FRIEND, true, true)] });
  t.notOk('shares' in datasetDetails(dataset, view('1.8.0', FRIEND)));
});

t.test('a history that was stored keeps its entries after the creation', async (t) => {
  const revisionId = `${DATASET}_1` as DatasetId;
  const revise = { action: 'revise', timestamp: '2031-01-01T00:00:00.000Z', revisionId, revisionNote: 'New' } as const;
  const create = { action: 'create', timestamp: 'T', revisionId: DATASET, revisionNote: 'First upload' } as const;
  for (const [revisions, notes] of [
    [[revise], ['Initial upload', 'New']],
    [
      [create, revise],
      ['First upload', 'New'],
    ],
  ] as const) {
    const history = { originalId: DATASET, revisions };
    const dataset = viewed({ dataset: revisionId, metadata: metadata({ revisionHistory: history }) });
    const shown = datasetDetails(dataset, view('1.8.0'));
    t.equal(shown.revisionHistory.originalId, DATASET);
    t.strictSame(
      shown.revisionHistory.revisions.map((revision) => revision.revisionNote),
      notes,
    );
  }
});

t.test('related datasets say by what they are related, and of what type that is', async (t) => {
  const related = { dataset: DATASET, type: { name: 'x', version: '1' }, name: 'N', summary: 'S', created: 'C' };
  const shown = datasetDetails(viewed(), {
    ...view('1.8.0'),
    related: [
      { ...related, relation: { by: 'program-name', identifier: 'P' } },
      { ...related, relation: { by: 'project-name', identifier: 'Q' } },
      { ...related, relation: { by: 'publication', identifier: '1', type: 'pmid' } },
      { ...related, relation: { by: 'publication', identifier: '10.1/x', type: 'doi' } },
    ],
  });
  const by = (relationType: string, identifier: string, type: string) => ({
    ...{ datasetId: DATASET, type: { name: 'x', version: '1', category: 'x' }, name: 'N', summary: 'S', created: 'C' },
    relatedBy: { relationType, identifier, type },
  });
  t.strictSame(shown.relatedDatasets, [
    by('program-name', 'P', 'program-name'),
    by('project-name', 'Q', 'project-name'),
    by('publication', '1', 'pmid'),
    by('publication', '10.1/x', 'doi'),
  ]);
});

t.test('the zip sizes appear once the import has happened', async (t) => {
  const files = { ...noFiles, upload: [{ name: 'a/b.txt', size: 3 }], documents: [{ name: 'd.pdf', size: 4 }] };
  const sizes = { upload: { size: 100, etag: 'u1' }, install: { size: 200, etag: 'i1' } };
  const upload = { zipSize: 100, contents: [{ fileName: 'a/b.txt', fileSize: 3 }] };
  const rest = { documents: [{ fileName: 'd.pdf', fileSize: 4 }], datasetProperties: [] };
  for (const waiting of [undefined, 'queued', 'in-progress'] as const)
    t.strictSame(fileListing(files, waiting, sizes, '1.8.0'), { upload: { ...upload, zipSize: -1 }, ...rest });
  for (const ended of ['invalid', 'failed'] as const)
    t.strictSame(fileListing(files, ended, sizes, '1.8.0'), { upload, ...rest });
  t.strictSame(fileListing(files, 'complete', sizes, '1.8.0'), {
    upload,
    install: { zipSize: 200, contents: [] },
    ...rest,
  });
  t.strictSame(fileListing(files, 'complete', { upload: undefined, install: undefined }, '1.8.0'), {
    upload: { ...upload, zipSize: -1 },
    install: { zipSize: -1, contents: [] },
    ...rest,
  });
});
