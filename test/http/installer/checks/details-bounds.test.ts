// Every bound of the metadata table, tried at, below and above. The cases are generated from the schema; a table
// copied from the contract proves that the schema has the contract's bounds and nothing else.

import t from 'tap';
import { targetId } from '../../../../engine/model/ids.ts';
import { DetailsCheck } from '../../../../http/installer/checks/details-check.ts';
import { CreateDetails } from '../../../../http/installer/schema/details.ts';
import { InstallTargets } from '../../../../http/installer/service/install-targets.ts';
import { dataTypes } from '../installation.ts';
import { keyOf, nodes, type Path, type Schema, sample } from './schema-cases.ts';

const ROOT = CreateDetails as unknown as Schema;

/** `[shortest, longest]` characters; undefined = no bound (contract 1, Dataset metadata). */
const CONTRACT_LENGTHS: Record<string, readonly [number | undefined, number | undefined]> = {
  'installTargets[0]': [5, 32],
  name: [3, 1024],
  summary: [3, 4000],
  description: [undefined, undefined],
  origin: [3, 256],
  'dependencies[0].resourceIdentifier': [3, 50],
  'dependencies[0].resourceDisplayName': [3, 100],
  'dependencies[0].resourceVersion': [1, 50],
  'publications[0].identifier': [3, 30],
  'publications[0].citation': [undefined, undefined],
  'contacts[0].firstName': [1, 300],
  'contacts[0].middleName': [1, 300],
  'contacts[0].lastName': [1, 300],
  'contacts[0].email': [5, 4000],
  'contacts[0].affiliation': [undefined, 4000],
  'contacts[0].country': [undefined, 200],
  projectName: [1, 256],
  programName: [1, 256],
  'linkedDatasets[0].datasetUri': [undefined, undefined],
  'experimentalOrganism.species': [undefined, undefined],
  'experimentalOrganism.strain': [undefined, undefined],
  'hostOrganism.species': [undefined, undefined],
  'hostOrganism.strain': [undefined, undefined],
  'datasetCharacteristics.studyDesign': [undefined, undefined],
  'datasetCharacteristics.studyType': [undefined, undefined],
  'datasetCharacteristics.countries[0]': [3, 128],
  'datasetCharacteristics.studySpecies[0]': [3, 128],
  'datasetCharacteristics.outcomes[0]': [3, 128],
  'datasetCharacteristics.associatedFactors[0]': [3, 128],
  'datasetCharacteristics.participantAges': [1, 128],
  'datasetCharacteristics.sampleTypes[0]': [3, 128],
  'externalIdentifiers.dois[0].doi': [6, 128],
  'externalIdentifiers.dois[0].description': [undefined, undefined],
  'externalIdentifiers.hyperlinks[0].url': [7, 200],
  'externalIdentifiers.hyperlinks[0].description': [undefined, 4000],
  'externalIdentifiers.bioprojectIds[0].id': [4, 64],
  'externalIdentifiers.bioprojectIds[0].description': [undefined, undefined],
  'funding[0].agency': [3, 256],
  'funding[0].awardNumber': [3, 64],
  shortAttribution: [3, 40],
  dataDisclaimer: [undefined, undefined],
  'datasetSources[0].url': [10, undefined],
  'datasetSources[0].version': [1, 128],
  'type.name': [3, 128],
  'type.version': [1, 32],
};
const CONTRACT_RANGES: Record<string, readonly [number, number]> = {
  'datasetCharacteristics.years.start': [1500, 2500],
  'datasetCharacteristics.years.end': [1500, 2500],
  daysForApproval: [-1, 365],
};
const CONTRACT_REQUIRED = [
  'dependencies',
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

t.test('the schema has the text lengths of the contract', async (t) => {
  const found = Object.fromEntries(texts.map(({ key, schema }) => [key, [schema.minLength, schema.maxLength]]));
  t.strictSame(found, CONTRACT_LENGTHS);
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

t.test('text is accepted at its bounds and refused beyond them', async (t) => {
  let cases = 0;
  for (const { path, key, schema } of texts) {
    const { minLength, maxLength } = schema;
    for (const length of [minLength, maxLength].filter((n) => n !== undefined)) {
      cases++;
      t.strictSame(faultsOf(put(path, '1'.repeat(length)))[key], undefined, `${key} with ${length} characters`);
    }
    const words =
      minLength === undefined
        ? `at most ${maxLength}`
        : maxLength === undefined
          ? `at least ${minLength}`
          : `${minLength} to ${maxLength}`;
    for (const length of [(minLength ?? 0) - 1, (maxLength ?? Infinity) + 1]) {
      if (length < 1 || !Number.isFinite(length)) continue;
      cases++;
      t.strictSame(
        faultsOf(put(path, '1'.repeat(length)))[key]?.[0],
        `has ${length} character${length === 1 ? '' : 's'}; text of ${words} characters is required`,
        `${key} with ${length} characters`,
      );
    }
  }
  t.equal(cases, 115, 'cases');
});

t.test('lengths count characters, not UTF-16 units', async (t) => {
  t.strictSame(faultsOf(put(['shortAttribution'], '😀'.repeat(40))).shortAttribution, undefined);
  t.strictSame(faultsOf(put(['shortAttribution'], '😀'.repeat(41))).shortAttribution, [
    'has 41 characters; text of 3 to 40 characters is required',
  ]);
  t.strictSame(faultsOf(put(['shortAttribution'], '😀😀')).shortAttribution, [
    'has 2 characters; text of 3 to 40 characters is required',
  ]);
});

t.test('numbers are accepted at their bounds and refused beyond them', async (t) => {
  for (const { path, key, schema } of all.filter((node) => node.schema.type === 'integer')) {
    const { minimum = 0, maximum = 0 } = schema;
    // The end of a span of years may not be before its start, which is 1500 in the sample.
    for (const value of key.endsWith('start') ? [minimum] : [minimum, maximum])
      t.strictSame(faultsOf(put(path, value))[key], undefined, `${key} = ${value}`);
    for (const value of [minimum - 1, maximum + 1])
      t.strictSame(
        faultsOf(put(path, value))[key],
        [`is ${value}; a whole number from ${minimum} to ${maximum} is required`],
        `${key} = ${value}`,
      );
    t.strictSame(faultsOf(put(path, 1600.5))[key]?.[0]?.includes('a whole number from'), true, `${key} = 1600.5`);
  }
});

t.test('every required field is missed when absent, null or blank', async (t) => {
  for (const { path, key, schema } of all.filter((node) => CONTRACT_REQUIRED.includes(node.key))) {
    const absent = schema.type === 'string' ? [undefined, null, ' \t'] : [undefined, null];
    for (const value of absent)
      t.match(
        faultsOf(put(path, value))[key]?.[0],
        /^is missing; .+ is required$/,
        `${key} = ${JSON.stringify(value)}`,
      );
  }
});

t.test('every optional field may be absent, null or blank', async (t) => {
  for (const { path, key, schema } of all.filter((node) => !CONTRACT_REQUIRED.includes(node.key))) {
    if (typeof path.at(-1) === 'number') continue;
    for (const value of schema.type === 'string' ? [undefined, null, ' \t'] : [undefined, null])
      t.strictSame(faultsOf(put(path, value))[key], undefined, `${key} = ${JSON.stringify(value)}`);
  }
});

t.test('every field refuses values of another kind, naming what it found', async (t) => {
  for (const { path, key, schema } of all) {
    const value = schema.type === 'object' ? 'words' : { other: 1 };
    const found = schema.type === 'object' ? "'words'" : 'an object';
    t.match(faultsOf(put(path, value))[key]?.[0], new RegExp(`^is ${found}; `), key);
  }
});

t.test('every object refuses a field it does not know, naming those it knows', async (t) => {
  for (const { path, key, schema } of [{ path: [] as Path, key: '', schema: ROOT }, ...all]) {
    if (schema.type !== 'object') continue;
    const known = Object.keys(schema.properties ?? {}).join(', ');
    const field = key === '' ? 'extra' : `${key}.extra`;
    t.strictSame(faultsOf(put([...path, 'extra'], 1))[field], [`is not a known field; known are ${known}`], field);
  }
});

t.test('every unique list refuses equal items, whatever the order of their keys', async (t) => {
  for (const { path, key, schema } of all.filter((node) => CONTRACT_UNIQUE.includes(node.key))) {
    const item = sample(schema.items ?? {});
    const twin =
      typeof item === 'object' && item !== null ? Object.fromEntries(Object.entries(item).reverse()) : `  ${item} `;
    t.strictSame(
      faultsOf(put(path, [item, twin]))[key],
      ['holds the same item at 0 and 1; each item may stand once'],
      key,
    );
  }
});

t.test('a body with every field given is sound but for its unknown type', async (t) => {
  t.strictSame(faultsOf(sample(ROOT)), {
    type: ["is '111:1'; registered are 'genelist:1.0', 'rnaseq:1.0', 'vectors:2.0'"],
  });
});
