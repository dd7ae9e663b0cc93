import t from 'tap';
import { parseMetadata, serializeMetadata } from '../../../../engine/model/metadata.ts';
import { metadataFromDetails } from '../../../../http/installer/metadata/stored-metadata.ts';
import { OWNER, soundDetails } from '../installation.ts';

const created = '2030-01-02T03:04:05.678Z';
const origin = { owner: OWNER, created };

t.test('applies the defaults of the contract', async (t) => {
  t.strictSame(metadataFromDetails(soundDetails(), origin), {
    installTargets: ['PlainSite'],
    name: 'My genes',
    summary: 'Genes that I like',
    origin: 'direct-upload',
    type: { name: 'genelist', version: '1.0' },
    visibility: 'private',
    owner: OWNER,
    created,
    daysForApproval: -1,
    dependencies: [],
  });
});

t.test('type names become lower case', async (t) => {
  const details = { ...soundDetails(), type: { name: 'GeneList', version: '1.0-B' } };
  t.strictSame(metadataFromDetails(details, origin).type, { name: 'genelist', version: '1.0-B' });
});

t.test('controlled is stored as protected with 0 days for approval', async (t) => {
  for (const daysForApproval of [undefined, -1, 0]) {
    const days = daysForApproval === undefined ? {} : { daysForApproval };
    const metadata = metadataFromDetails({ ...soundDetails(), visibility: 'controlled', ...days }, origin);
    t.match(metadata, { visibility: 'protected', daysForApproval: 0 });
  }
});

t.test('remembers when a dataset was first published', async (t) => {
  const first = (['private', 'protected', 'public', 'controlled'] as const).map(
    (visibility) => metadataFromDetails({ ...soundDetails(), visibility }, origin).firstPublished,
  );
  t.strictSame(first, [undefined, created, created, created]);
});

t.test('publications are stored without their prefix, contacts with a primary mark', async (t) => {
  const metadata = metadataFromDetails(
    {
      ...soundDetails(),
      publications: [
        { identifier: 'doi:10.1000/182', citation: 'A' },
        { identifier: 'PMID: 123', isPrimary: true },
      ],
      contacts: [{ lastName: 'Doe' }],
    },
    origin,
  );
  t.strictSame(metadata.publications, [
    { identifier: '10.1000/182', type: 'doi', citation: 'A', isPrimary: false },
    { identifier: '123', type: 'pmid', isPrimary: true },
  ]);
  t.strictSame(metadata.contacts, [{ lastName: 'Doe', isPrimary: false }]);
});

t.test('optional fields without content are left out', async (t) => {
  const metadata = metadataFromDetails(
    {
      ...soundDetails(),
      funding: [],
      datasetCharacteristics: { countries: [] },
      externalIdentifiers: { dois: [], hyperlinks: [{ url: 'http://a' }] },
    },
    origin,
  );
  t.hasOwnPropsOnly(metadata, Object.keys(metadataFromDetails(soundDetails(), origin)).concat('externalIdentifiers'));
  t.strictSame(metadata.externalIdentifiers, { hyperlinks: [{ url: 'http://a' }] });
});

t.test('the document reads back as it was made', async (t) => {
  const metadata = metadataFromDetails({ ...soundDetails(), visibility: 'controlled' }, { ...origin, sourceUrl: 'u' });
  t.strictSame(parseMetadata(serializeMetadata(metadata), 'here'), metadata);
});
