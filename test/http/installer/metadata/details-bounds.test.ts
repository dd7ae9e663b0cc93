// Every bound of the metadata table, tried at, below and above. The cases are generated from the schema; a table
// copied from the contract proves that the schema has the contract's bounds and nothing else.

import t from 'tap';
import { targetId } from '../../../../engine/model/ids.ts';
import { InstallTargets } from '../../../../http/installer/install-targets.ts';
import { CreateDetails } from '../../../../http/installer/metadata/create-details.ts';
import { DetailsCheck } from '../../../../http/installer/metadata/details-check.ts';
import { FIELD_ROWS } from '../../../contract/fields.ts';
import { dataTypes } from '../installation.ts';
import { tryBounds } from './bound-cases.ts';
import { keyOf, nodes, type Path, type Schema, sample } from './schema-cases.ts';

const ROOT = CreateDetails as unknown as Schema;

/** `[shortest, longest]` characters; undefined = no bound (docs/contract/installer.md#dataset-metadata). The rest have none. */
const CONTRACT_LENGTHS: Record<string, readonly [number | undefined, number | undefined]> = {
  'installTargets[0]': [5, 32],
  name: [3, 1024],
  summary: [3, 4000],
  origin: [3, 256],
  'dependencies[0].resourceIdentifier': [3, 50],
  'dependencies[0].resourceDisplayName': [3, 100],
  'dependencies[0].resourceVersion': [1, 50],
  'publications[0].identifier': [3, 30],
  'contacts[0].firstName': [1, 300],
  'contacts[0].middleName': [1, 300],
  'contacts[0].lastName': [1, 300],
  'contacts[0].email': [5, 4000],
  'contacts[0].affiliation': [undefined, 4000],
  'contacts[0].country': [undefined, 200],
  projectName: [1, 256],
  programName: [1, 256],
  'datasetCharacteristics.countries[0]': [3, 128],
  'datasetCharacteristics.studySpecies[0]': [3, 128],
  'datasetCharacteristics.outcomes[0]': [3, 128],
  'datasetCharacteristics.associatedFactors[0]': [3, 128],
  'datasetCharacteristics.participantAges': [1, 128],
  'datasetCharacteristics.sampleTypes[0]': [3, 128],
  'externalIdentifiers.dois[0].doi': [6, 128],
  'externalIdentifiers.hyperlinks[0].url': [7, 200],
  'externalIdentifiers.hyperlinks[0].description': [undefined, 4000],
  'externalIdentifiers.bioprojectIds[0].id': [4, 64],
  'funding[0].agency': [3, 256],
  'funding[0].awardNumber': [3, 64],
  shortAttribution: [3, 40],
  'datasetSources[0].url': [10, undefined],
  'datasetSources[0].version': [1, 128],
  'type.name': [3, 128],
  'type.version': [1, 32],
};
const UNBOUND = [
  ...['description', 'dataDisclaimer', 'publications[0].citation', 'linkedDatasets[0].datasetUri'],
  ...['experimentalOrganism', 'hostOrganism'].flatMap((one) => [`${one}.species`, `${one}.strain`]),
  ...['studyDesign', 'studyType'].map((name) => `datasetCharacteristics.${name}`),
  ...['dois', 'bioprojectIds'].map((list) => `externalIdentifiers.${list}[0].description`),
];
const CONTRACT_RANGES: Record<string, readonly [number, number]> = {
  'datasetCharacteristics.years.start': [1500, 2500],
  'datasetCharacteristics.years.end': [1500, 2500],
  daysForApproval: [-1, 365],
};
/** The contract lists `dependencies` too; deployed clients leave out what is empty. */
const CONTRACT_REQUIRED = [
  'dependencies[0].resourceDisplayName',
  'dependencies[0].resourceIdentifier',
  'dependencies[0].resourceVersion',
  'datasetCharacteristics.years.end',
  'datasetCharacteristics.years.start',
  'datasetSources[0].url',
  'datasetSources[0].version',
  'experimentalOrganism.species',
  'experimentalOrganism.strain',
  'externalIdentifiers.bioprojectIds[0].id',
  'externalIdentifiers.dois[0].doi',
  'externalIdentifiers.hyperlinks[0].url',
  'funding[0].agency',
  'funding[0].awardNumber',
  'hostOrganism.species',
  'hostOrganism.strain',
  'installTargets',
  'linkedDatasets[0].datasetUri',
  'linkedDatasets[0].sharesRecords',
  'name',
  'origin',
  'publications[0].identifier',
  'summary',
  'type',
  'type.name',
  'type.version',
];
const CONTRACT_UNIQUE = [
  'contacts',
  'datasetCharacteristics.associatedFactors',
  'datasetCharacteristics.countries',
  'datasetCharacteristics.outcomes',
  'datasetCharacteristics.sampleTypes',
  'datasetCharacteristics.studySpecies',
  'datasetSources',
  'dependencies',
  'externalIdentifiers.bioprojectIds',
  'externalIdentifiers.dois',
  'externalIdentifiers.hyperlinks',
  'funding',
  'installTargets',
  'linkedDatasets',
  'publications',
];
const CONTRACT_ENUMS = {
  'publications[0].type': ['pmid', 'doi'],
  visibility: ['private', 'protected', 'public', 'controlled'],
};

function put(path: Path, value: unknown): unknown {
  const root = sample(ROOT);
  let at = root as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  const last = path.at(-1) ?? '';
  if (value === undefined) delete at[last];
  else at[last] = value;
  return root;
}

const check = new DetailsCheck(
  new InstallTargets(
    [5, 32].map((n) => ({ id: targetId('1'.repeat(n)), name: 'x', enabled: true, category: 'other' as const })),
  ),
  dataTypes(),
);
const faultsOf = (body: unknown): Readonly<Record<string, readonly string[]>> =>
  check.check(body, '1.8.0').faults.errors().byKey;

const all = nodes(ROOT);
const texts = all.filter((node) => node.schema.type === 'string');

tryBounds(t, {
  ...{ nodes: [{ path: [], key: '', schema: ROOT }, ...all], keyOf, texts: 115 },
  put: (path, value) => faultsOf(put(path, value)),
});

t.test('the schema has the text lengths of the contract', async (t) => {
  const found = Object.fromEntries(texts.map(({ key, schema }) => [key, [schema.minLength, schema.maxLength]]));
  const unbound = texts.filter(({ key }) => UNBOUND.includes(key)).map(({ key }) => [key, [undefined, undefined]]);
  t.equal(unbound.length, UNBOUND.length);
  t.strictSame(found, { ...CONTRACT_LENGTHS, ...Object.fromEntries(unbound) });
});

t.test('the schema has the number ranges, enums, unique lists and required fields of the contract', async (t) => {
  const pick = (wanted: (schema: Schema) => boolean) => all.filter((node) => wanted(node.schema));
  t.strictSame(
    Object.fromEntries(
      pick((s) => s.type === 'integer').map(({ key, schema }) => [key, [schema.minimum, schema.maximum]]),
    ),
    CONTRACT_RANGES,
  );
  t.strictSame(Object.fromEntries(pick((s) => !!s.enum).map(({ key, schema }) => [key, schema.enum])), CONTRACT_ENUMS);
  t.strictSame(
    pick((s) => s.uniqueItems === true)
      .map(({ key }) => key)
      .sort(),
    CONTRACT_UNIQUE,
  );
  const required = [{ path: [] as Path, schema: ROOT }, ...all].flatMap(({ path, schema }) =>
    (schema.required ?? []).map((name) => keyOf([...path, name])),
  );
  t.strictSame(required.sort(), [...CONTRACT_REQUIRED].sort());
});

t.test('the contract has a row for each field of the schema, and for no other', async (t) => {
  const rows = Object.keys(FIELD_ROWS).flatMap((id) =>
    id.startsWith('details/') ? [id.slice('details/'.length)] : [],
  );
  t.strictSame(rows.sort(), Object.keys(ROOT.properties ?? {}).sort());
});

t.test('lengths count characters, not UTF-16 units', async (t) => {
  for (const [characters, faults] of [
    [40, undefined],
    [41, ['has 41 characters; text of 3 to 40 characters is required']],
    [2, ['has 2 characters; text of 3 to 40 characters is required']],
  ] as const)
    t.strictSame(faultsOf(put(['shortAttribution'], '😀'.repeat(characters))).shortAttribution, faults);
});

t.test('every optional field may be absent, null or blank', async (t) => {
  for (const { path, key, schema } of all.filter((node) => !CONTRACT_REQUIRED.includes(node.key))) {
    if (typeof path.at(-1) === 'number') continue;
    for (const value of schema.type === 'string' ? [undefined, null, ' \t'] : [undefined, null])
      t.strictSame(faultsOf(put(path, value))[key], undefined, `${key} = ${JSON.stringify(value)}`);
  }
});

t.test('a body with every field given is sound but for its unknown type', async (t) => {
  t.strictSame(faultsOf(sample(ROOT)), {
    type: ["is '111:1'; registered are 'genelist:1.0', 'rnaseq:1.0', 'vectors:2.0'"],
  });
});
