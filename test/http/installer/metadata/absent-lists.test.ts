// Deployed upload forms leave out what is empty, and some send null. Every list that may be empty may be absent.

import t from 'tap';
import { targetId } from '../../../../engine/model/ids.ts';
import { parseMetadata, serializeMetadata } from '../../../../engine/model/metadata.ts';
import { InstallTargets } from '../../../../http/installer/install-targets.ts';
import { CreateDetails } from '../../../../http/installer/metadata/create-details.ts';
import { DetailsCheck } from '../../../../http/installer/metadata/details-check.ts';
import { patchedMetadata } from '../../../../http/installer/metadata/patch-check.ts';
import { metadataFromDetails } from '../../../../http/installer/metadata/stored-metadata.ts';
import { dataTypes, OWNER, soundDetails } from '../installation.ts';
import { nodes, type Path, type Schema, sample } from './schema-cases.ts';

const LISTS = nodes(CreateDetails as unknown as Schema).filter(({ schema }) => schema.type === 'array');
const origin = { owner: OWNER, created: '2030-01-02T03:04:05.678Z' };
const check = new DetailsCheck(
  new InstallTargets([{ id: targetId('PlainSite'), name: 'Plain site', enabled: true, category: 'other' }]),
  dataTypes(),
);

function detailsWith(path: Path, value: unknown): Record<string, unknown> {
  const { installTargets, type } = soundDetails();
  const root = { ...(sample(CreateDetails as unknown as Schema) as Record<string, unknown>), installTargets, type };
  let at = root as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  if (value === undefined) delete at[path.at(-1) ?? ''];
  else at[path.at(-1) ?? ''] = value;
  return root;
}

t.test('every list of the details may be absent, null or empty, but for the install targets', async (t) => {
  t.ok(LISTS.length > 10);
  for (const { path, key } of LISTS) {
    for (const value of [undefined, null, []]) {
      const { details, faults } = check.check(detailsWith(path, value), '1.8.0');
      if (key === 'installTargets') t.ok(faults.touches(key), `${key} = ${JSON.stringify(value)}`);
      else t.ok(details, `${key} = ${JSON.stringify(value)}`);
    }
  }
});

t.test('the stored metadata hold the list of dependencies, whatever was sent', async (t) => {
  for (const value of [undefined, null, []]) {
    const { details } = check.check({ ...soundDetails(), dependencies: value }, '1.8.0');
    if (!details) throw new Error('refused');
    const metadata = metadataFromDetails(details, origin);
    t.same(metadata.dependencies, [], JSON.stringify(value));
    t.match(JSON.parse(serializeMetadata(metadata)), { dependencies: [] });
    const change = { path: ['name'] as const, at: ['name', 'value'], value: 'Other genes' };
    t.same(patchedMetadata(metadata, { name: 'Other genes' }, [change], new Date()).dependencies, [], 'and patched');
  }
});

t.test('a stored document that leaves lists out, or holds nulls, is read as if they were empty', async (t) => {
  const document = {
    type: { name: 'genelist', version: '1.0' },
    owner: 42,
    name: 'Old',
    installTargets: ['PlainSite'],
  };
  const plain = parseMetadata(JSON.stringify(document), 'here');
  t.same(plain.dependencies, []);
  const nulls = {
    dependencies: null,
    contacts: null,
    summary: null,
    publications: [{ identifier: '12345', type: 'pmid', citation: null, isPrimary: true }, null],
    datasetCharacteristics: { countries: null, studyType: 'null and void' },
    revisionHistory: null,
  };
  t.same(parseMetadata(JSON.stringify({ ...document, ...nulls }), 'here'), {
    ...plain,
    publications: [{ identifier: '12345', type: 'pmid', isPrimary: true }],
    datasetCharacteristics: { studyType: 'null and void' },
  });
});
