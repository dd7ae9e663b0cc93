import t from 'tap';
import type { ApiVersion } from '../../../../engine/model/api-version.ts';
import { targetId } from '../../../../engine/model/ids.ts';
import { type DatasetMetadata, parseMetadata, serializeMetadata } from '../../../../engine/model/metadata.ts';
import { InstallTargets } from '../../../../http/installer/install-targets.ts';
import { DetailsCheck } from '../../../../http/installer/metadata/details-check.ts';
import { PatchCheck } from '../../../../http/installer/metadata/patch-check.ts';
import { PATCHABLE_FIELDS, readDetailsPatch } from '../../../../http/installer/metadata/patch-details.ts';
import { fullMetadataOf } from '../../../support/dataset-samples.ts';
import { DATASET, metadata } from '../datasets.ts';
import { dataTypes, installTargets, OWNER, SETTINGS } from '../installation.ts';

const NOW = new Date('2031-01-01T00:00:00.000Z');
const contact = { firstName: 'A', lastName: 'B', email: 'a@b.c', affiliation: 'C', country: 'D' };
const primary = { ...contact, isPrimary: true };

const usual = new PatchCheck(new DetailsCheck(installTargets(), dataTypes()), dataTypes());
const plain = (changes: Partial<DatasetMetadata> = {}) =>
  metadata({ installTargets: [targetId('PlainSite')], ...changes });

/** The document after the patch, or the faults by key. */
function patched(stored: DatasetMetadata, body: unknown, version: ApiVersion = '1.8.0', patches = usual) {
  const patch = readDetailsPatch(body, version);
  const document = patches.check(stored, patch, NOW, () => undefined);
  const { general, byKey } = patch.faults.errors();
  t.strictSame(document === undefined, !patch.faults.empty, 'a document, or faults');
  return document ?? (general.length > 0 ? { general, byKey } : byKey);
}
const value = (of: unknown) => ({ value: of });

t.test('what is absent stays, null and blank text clear, lists are replaced whole', async (t) => {
  const stored = plain({
    description: 'long',
    projectName: 'P',
    shortAttribution: 'Doe',
    funding: [{ agency: 'NIH', awardNumber: 'R01' }],
    datasetCharacteristics: { studyType: 'x', countries: ['Peru', 'Kenya'] },
    externalIdentifiers: { dois: [{ doi: '10.1/abc' }] },
  });
  const { description: _gone, projectName: _cleared, externalIdentifiers: _emptied, ...kept } = stored;
  t.strictSame(
    patched(stored, {
      name: value('  Other genes '),
      description: value(null),
      projectName: value('  '),
      funding: value([{ agency: 'ERC', awardNumber: 'E02' }]),
      datasetCharacteristics: { countries: value(['Chile']), participantAges: value('1-5') },
      externalIdentifiers: { dois: value([]) },
    }),
    {
      ...kept,
      name: 'Other genes',
      funding: [{ agency: 'ERC', awardNumber: 'E02' }],
      datasetCharacteristics: { studyType: 'x', countries: ['Chile'], participantAges: '1-5' },
    },
  );
});

t.test('every field can be given as it is, and the document stays the same', async (t) => {
  const stored = { ...fullMetadataOf(OWNER, DATASET), contacts: [primary] };
  const document = stored as unknown as Record<string, Record<string, unknown>>;
  t.strictSame(patched(stored, {}), stored);
  for (const field of PATCHABLE_FIELDS) {
    const given = ['datasetCharacteristics', 'externalIdentifiers'].includes(field)
      ? Object.fromEntries(Object.entries(document[field] ?? {}).map(([member, of]) => [member, value(of)]))
      : value(document[field]);
    t.strictSame(patched(stored, { [field]: given }), stored, field);
  }
});

t.test('values are stored as a create request would have them stored', async (t) => {
  const document = patched(plain(), {
    publications: value([{ identifier: 'doi:10.1000/182' }, { identifier: 'PMID: 123', isPrimary: true }]),
    contacts: value([{ lastName: 'Doe' }]),
  });
  t.match(document, {
    publications: [
      { identifier: '10.1000/182', type: 'doi', isPrimary: false },
      { identifier: '123', type: 'pmid', isPrimary: true },
    ],
    contacts: [{ lastName: 'Doe', isPrimary: false }],
  });
});

t.test('faults across fields stand where the caller wrote the value', async (t) => {
  for (const [body, faults] of [
    [
      {
        datasetCharacteristics: { countries: value(['Peru', 'x']), years: value({ start: 2000, end: 1999 }) },
        publications: value([{ identifier: 'words' }]),
      },
      {
        'datasetCharacteristics.countries.value[1]': ['has 1 character; text of 3 to 128 characters is required'],
        'publications.value[0].identifier': ["is 'words'; a PubMed id is digits only"],
      },
    ],
    [
      { datasetCharacteristics: { years: value({ start: 2000, end: 1999 }) } },
      { 'datasetCharacteristics.years.value.end': ['is 1999, before the start 2000; it must not be earlier'] },
    ],
    [
      { name: value('a\u0000b') },
      {
        'name.value': [
          'holds the character U+0000 at position 2, a control character; one line of text without such is required',
        ],
      },
    ],
  ] as const)
    t.strictSame(patched(plain(), body), faults);
});

t.test('wrappers are asked for, and nothing else', async (t) => {
  const wanted = "an object with a 'value' is required, where null clears the field";
  t.strictSame(
    patched(plain(), {
      name: 'Other genes',
      summary: null,
      description: {},
      funding: { value: [], more: 1 },
      datasetCharacteristics: { value: { studyType: 'x' }, countries: ['Peru'] },
      externalIdentifiers: [],
    }),
    {
      name: [`is 'Other genes'; ${wanted}`],
      summary: [`is null; ${wanted}`],
      'description.value': ['is missing; null clears the field'],
      'funding.more': ['is not a known field; known are value'],
      'datasetCharacteristics.value': [
        'is not a known field; known are studyDesign, studyType, countries, years, studySpecies, outcomes, ' +
          'associatedFactors, participantAges, sampleTypes',
      ],
      'datasetCharacteristics.countries': [`is a list of 1; ${wanted}`],
      externalIdentifiers: ['is a list of 0; an object is required, with a value for each of its fields'],
    },
  );
  for (const body of [[], 'words', null, 7])
    t.strictSame(patched(plain(), body), { general: ['details must be a JSON object'], byKey: {} });
});

t.test('what a dataset keeps for good is named, and so is what nobody knows', async (t) => {
  const changeable = `changeable are ${PATCHABLE_FIELDS.join(', ')}`;
  const kept = ['installTargets', 'dependencies', 'owner', 'created', 'sourceUrl', 'revisionHistory', 'datasetId'];
  t.strictSame(patched(plain(), Object.fromEntries([...kept, 'origin', 'nmae'].map((field) => [field, value('x')]))), {
    ...Object.fromEntries(kept.map((field) => [field, [`cannot be changed; ${changeable}`]])),
    origin: [`cannot be changed, except by a revision; ${changeable}`],
    nmae: [`is not a known field; known are ${PATCHABLE_FIELDS.join(', ')}`],
  });
});

t.test('study information has two names, and faults use the caller’s', async (t) => {
  const bad = { countries: value(['x']) };
  const sentences = ['has 1 character; text of 3 to 128 characters is required'];
  for (const name of ['studyCharacteristics', 'datasetCharacteristics'])
    for (const version of ['1.7.0', '1.8.0'] as const) {
      t.strictSame(patched(plain(), { [name]: bad }, version), { [`${name}.countries.value[0]`]: sentences });
      t.match(patched(plain(), { [name]: { studyType: value('x') } }, version), {
        datasetCharacteristics: { studyType: 'x' },
      });
    }
  t.strictSame(patched(plain(), { studyCharacteristics: {}, datasetCharacteristics: {} }), {
    studyCharacteristics: ['is the old name of datasetCharacteristics; only one of them may be given'],
  });
  const clinical = plain({
    installTargets: [targetId('ClinicSite')],
    projectName: 'P',
    programName: 'Q',
    datasetCharacteristics: { studyDesign: 'a', studyType: 'b' },
  });
  const missing = ['is missing; it is required of a clinical-epidemiology dataset'];
  t.strictSame(patched(clinical, { studyCharacteristics: { studyDesign: value(null) } }), {
    'studyCharacteristics.studyDesign.value': missing,
  });
});

t.test('the rules across fields see the patched dataset', async (t) => {
  const microbe = { installTargets: [targetId('MicrobeSite')], projectName: 'P', programName: 'Q' };
  const stored = plain({ ...microbe, experimentalOrganism: { species: 'S', strain: 'T' } });
  const missing = ['is missing; it is required of a microbiome dataset'];
  t.strictSame(patched(stored, { programName: value(null), experimentalOrganism: value(null) }), {
    'programName.value': missing,
    'experimentalOrganism.value': missing,
  });
  const open = plain({ visibility: 'protected', contacts: [primary] });
  t.strictSame(patched(open, { contacts: value([primary, { ...contact, email: null }]) }), {
    'contacts.value[1].email': ['is missing; it is required of every contact of a dataset that is protected'],
  });
});

t.test('faults that were there before do not stand in the way, unless the patch repeats them', async (t) => {
  const old = plain({
    name: 'x',
    contacts: [{ email: 'x', isPrimary: true }],
    type: { name: 'forgotten', version: '1' },
    installTargets: [targetId('MicrobeSite'), targetId('LostSite')],
    publications: null as never,
    datasetCharacteristics: 'odd' as never,
  });
  t.match(patched(old, { summary: value('Better') }), { ...old, summary: 'Better' });
  t.strictSame(patched(old, { name: value('y') }), {
    'name.value': ['has 1 character; text of 3 to 1024 characters is required'],
  });
  t.match(patched(old, { contacts: value([{ email: 'x' }]) }), {
    'contacts.value[0].email': ['has 1 character; text of 5 to 4000 characters is required'],
  });
  t.match(patched(old, { datasetCharacteristics: { studyType: value('x') } }), {
    datasetCharacteristics: { studyType: 'x' },
  });
});

t.test('fields that are not ours are kept, at every level', async (t) => {
  const text = serializeMetadata(plain({ datasetCharacteristics: { studyType: 'x' }, sourceUrl: 'https://x.org/a' }))
    .replace('"studyType"', '"ownField": {"deep": [1]}, "studyType"')
    .replace('{', '{"own": "kept",');
  const stored = parseMetadata(text, 'test');
  t.strictSame(patched(stored, { datasetCharacteristics: { studyType: value('y') }, name: value('Other') }), {
    ...stored,
    name: 'Other',
    datasetCharacteristics: { ownField: { deep: [1] }, studyType: 'y' },
  });
});

t.test('controlled is protected with 0 days for approval', async (t) => {
  const days = (stored: Partial<DatasetMetadata>, body: object) => {
    const made = patched(plain({ contacts: [primary], firstPublished: 'then', ...stored }), body) as DatasetMetadata;
    return [made.visibility, made.daysForApproval];
  };
  const controlled = { visibility: 'protected', daysForApproval: 0 } as const;
  for (const [stored, body, expected] of [
    [{ daysForApproval: 30 }, { visibility: value('controlled') }, ['protected', 0]],
    [{}, { visibility: value('controlled'), daysForApproval: value(-1) }, ['protected', 0]],
    [{}, { visibility: value('controlled'), daysForApproval: value(0) }, ['protected', 0]],
    [controlled, { visibility: value('protected') }, ['protected', -1]],
    [controlled, { visibility: value('protected'), daysForApproval: value(0) }, ['protected', 0]],
    [controlled, { daysForApproval: value(30) }, ['protected', 30]],
    [controlled, { daysForApproval: value(null) }, ['protected', -1]],
    [controlled, { name: value('Other') }, ['protected', 0]],
    [controlled, { visibility: value('public') }, ['public', 0]],
    [{ visibility: 'protected', daysForApproval: 30 }, { visibility: value('protected') }, ['protected', 30]],
    [{ visibility: 'public' }, { visibility: value(null) }, ['private', -1]],
    [{ visibility: 'controlled' as never }, { daysForApproval: value(5) }, ['protected', 5]],
  ] as const)
    t.strictSame(days(stored, body), expected, JSON.stringify([stored, body]));
  t.strictSame(
    patched(plain(), { visibility: value('controlled'), daysForApproval: value(7), contacts: value([primary]) }),
    {
      'daysForApproval.value': ['is 7; a controlled dataset has 0 days for approval'],
    },
  );
});

t.test('a dataset that stops being private names whom to ask', async (t) => {
  for (const visibility of ['protected', 'public', 'controlled']) {
    const publish = { visibility: value(visibility) };
    const incomplete = plain({
      contacts: [
        { ...primary, email: 'a@b.c' },
        { lastName: 'Doe', isPrimary: false },
      ],
    });
    t.strictSame(patched(plain(), publish), {
      contacts: [`is missing; a ${visibility} dataset has at least one contact`],
    });
    t.strictSame(patched(plain({ contacts: [{ ...contact, isPrimary: false }] }), publish), {
      contacts: [`has no primary contact; a ${visibility} dataset has exactly one`],
    });
    const because = `is missing; it is required of every contact of a dataset that is ${visibility}`;
    t.strictSame(patched(incomplete, publish), {
      'contacts[1].firstName': [because],
      'contacts[1].email': [because],
      'contacts[1].affiliation': [because],
      'contacts[1].country': [because],
    });
    const made = patched(plain(), { ...publish, contacts: value([primary]) });
    t.match(made, { contacts: [primary], firstPublished: NOW.toISOString() });
    // What was wrong with a contact all along is not shown to others.
    t.match(patched(plain({ contacts: [{ ...primary, email: 'x' }] }), publish), {
      'contacts[0].email': ['has 1 character; text of 5 to 4000 characters is required'],
    });
  }
  const again = plain({ contacts: [primary], firstPublished: '2030-05-05T00:00:00.000Z' });
  t.match(patched(again, { visibility: value('public') }), { firstPublished: '2030-05-05T00:00:00.000Z' });
  t.strictSame((patched(plain(), { name: value('Other') }) as DatasetMetadata).firstPublished, undefined);
});

t.test('a type becomes another only where its plugin allows that', async (t) => {
  const list = { name: 'genelist', version: '1.0' };
  const rnaseq = plain({ type: { name: 'rnaseq', version: '1.0' } });
  t.match(patched(rnaseq, { type: value({ name: 'GeneList', version: '1.0' }) }), { ...rnaseq, type: list });
  t.strictSame(patched(plain(), { type: value({ name: 'rnaseq', version: '1.0' }) }), {
    'type.value': ["cannot be changed: the plugin of 'genelist:1.0' does not allow it"],
  });
  t.strictSame(patched(plain(), { type: value({ name: 'GENELIST', version: '1.0' }) }), plain());
  t.match(patched(rnaseq, { type: value({ name: 'unheard', version: '1.0' }) }), {
    'type.value': [/^is 'unheard:1.0'; /],
  });
  t.strictSame(patched(rnaseq, { type: value({ name: 'vectors', version: '2.0' }) }), {
    'type.value': ["is 'vectors:2.0', which does not apply to the install target 'PlainSite'"],
  });
  t.match(patched(rnaseq, { type: value({ name: 'x', version: '' }) }), {
    'type.value.name': [/^has 1 character/],
    'type.value.version': [/^is missing/],
  });
});

t.test('a target’s own schema judges what changes, and last', async (t) => {
  const metaValidation = { required: ['description', 'programName'], properties: { name: { pattern: '^A' } } };
  const targets = new InstallTargets(SETTINGS.map((target) => ({ ...target, metaValidation })));
  const patches = new PatchCheck(new DetailsCheck(targets, dataTypes()), dataTypes());
  const stored = plain({ description: 'D', name: 'A name' });
  const by = (sentence: string) => [`${sentence} (by install target PlainSite)`];
  t.match(
    patched(stored, { summary: value('Better') }, '1.8.0', patches),
    { summary: 'Better' },
    'as faulty as before',
  );
  t.strictSame(patched(stored, { description: value(null), name: value('B name') }, '1.8.0', patches), {
    'description.value': by('is missing; a value is required'),
    'name.value': by('is \'B name\'; it must match pattern "^A"'),
  });
  t.match(patched(stored, { name: value('B') }, '1.8.0', patches), { 'name.value': [/^has 1 character; .+required$/] });
});

t.test('patches cannot make a document larger than plugins take', async (t) => {
  const MAX = 960 * 1024;
  const sizeOf = (document: unknown): number => Buffer.byteLength(serializeMetadata(document as DatasetMetadata));
  const stored = plain({ dataDisclaimer: 'x'.repeat(500_000), description: 'y' });
  const room = MAX - sizeOf(stored) + 1;
  const full = patched(stored, { description: value('y'.repeat(room)) });
  t.equal(sizeOf(full), MAX);
  const refused = {
    general: [`the metadata come to ${MAX + 1} bytes as they are stored; they may have ${MAX}`],
    byKey: {},
  };
  t.strictSame(patched(stored, { description: value('y'.repeat(room + 1)) }), refused);
  const larger = plain({ dataDisclaimer: 'x'.repeat(MAX) });
  t.match(
    patched(larger, { name: value('Other genes') }),
    { name: 'Other genes' },
    'one that is larger stays editable',
  );
});
