import t from 'tap';
import type { ApiVersion } from '../../../../engine/model/api-version.ts';
import { targetId } from '../../../../engine/model/ids.ts';
import { InstallTargets } from '../../../../http/installer/install-targets.ts';
import type { CreateDetails } from '../../../../http/installer/metadata/create-details.ts';
import { DetailsCheck } from '../../../../http/installer/metadata/details-check.ts';
import { readPublicationIdentifier } from '../../../../http/installer/metadata/details-rules.ts';
import { metadataFromDetails } from '../../../../http/installer/metadata/stored-metadata.ts';
import { Faults } from '../../../../http/kernel/input/faults.ts';
import { dataTypes, installTargets, OWNER, SETTINGS, soundDetails } from '../installation.ts';

type Loose = { readonly [Field in keyof CreateDetails]?: unknown } & Record<string, unknown>;

const check = new DetailsCheck(installTargets(), dataTypes());

/** The faults of sound details with some fields replaced. */
function faultsOf(changes: Loose, version: ApiVersion = '1.8.0') {
  const checked = check.check({ ...soundDetails(), ...changes }, version);
  return checked.details ? undefined : checked.faults.errors();
}
const byKey = (changes: Loose, version: ApiVersion = '1.8.0') => faultsOf(changes, version)?.byKey;

const fullContact = { firstName: 'A', lastName: 'B', email: 'a@b.c', affiliation: 'C', country: 'D' };
const organism = { species: 'S', strain: 'T' };
const project = { projectName: 'P', programName: 'Q' };
const missingContact = (because: string) =>
  Object.fromEntries(
    Object.keys(fullContact).map((field) => [`contacts[0].${field}`, [`is missing; it is required ${because}`]]),
  );

t.test('accepts the least that the contract asks for', async (t) => {
  t.strictSame(check.check(soundDetails(), '1.8.0').details, soundDetails());
});

t.test('cleans before it judges: trims, drops nulls and blanks', async (t) => {
  const checked = check.check(
    { ...soundDetails(), name: '  My genes\n', description: ' ', projectName: null, contacts: [null, { email: '' }] },
    '1.8.0',
  );
  t.strictSame(checked.details, { ...soundDetails(), contacts: [{}] });
});

for (const [because, changes] of [
  ['of the primary contact', { contacts: [{ isPrimary: true }] }],
  [
    'of every contact of a microbiome dataset',
    { installTargets: ['MicrobeSite'], contacts: [{}], ...project, experimentalOrganism: organism },
  ],
  [
    'of every contact of a clinical-epidemiology dataset',
    {
      installTargets: ['PlainSite', 'ClinicSite'],
      contacts: [{}],
      ...project,
      datasetCharacteristics: { studyDesign: 'x', studyType: 'y' },
    },
  ],
  ['of every contact of a dataset that is protected', { visibility: 'protected', contacts: [{}] }],
  ['of every contact of a dataset that is public', { visibility: 'public', contacts: [{}] }],
  ['of every contact of a dataset that is controlled', { visibility: 'controlled', contacts: [{}] }],
] as const) {
  t.test(`a full contact is required ${because}`, async (t) => {
    t.strictSame(byKey(changes), missingContact(because));
    const full = changes.contacts.map((contact) => ({ ...contact, ...fullContact }));
    t.equal(byKey({ ...changes, contacts: full }), undefined);
  });
}

t.test('a contact may be sparse in a private dataset of other targets', async (t) => {
  t.equal(byKey({ contacts: [{ lastName: 'B' }], visibility: 'private' }), undefined);
});

for (const [target, wanted] of [
  ['PlainSite', []],
  ['GenomeSite', ['experimentalOrganism']],
  ['VectorSite', ['experimentalOrganism']],
  ['MicrobeSite', ['projectName', 'programName', 'experimentalOrganism']],
  [
    'ClinicSite',
    ['projectName', 'programName', 'datasetCharacteristics.studyDesign', 'datasetCharacteristics.studyType'],
  ],
] as const) {
  t.test(`${target} requires [${wanted.join(', ')}]`, async (t) => {
    const missing = byKey({ installTargets: [target] }) ?? {};
    t.strictSame(Object.keys(missing), wanted);
    for (const sentences of Object.values(missing))
      t.match(sentences, [/^is missing; it is required of a .* dataset$/]);
    const given = {
      ...project,
      experimentalOrganism: organism,
      datasetCharacteristics: { studyDesign: 'x', studyType: 'y' },
    };
    t.equal(byKey({ installTargets: [target], ...given }), undefined);
  });
}

t.test('a field that is faulty is not called missing as well', async (t) => {
  t.strictSame(byKey({ installTargets: ['MicrobeSite'], ...project, projectName: 5, experimentalOrganism: organism }), {
    projectName: ['is 5; text of 1 to 256 characters is required'],
  });
});

t.test('at most one contact and one publication is primary', async (t) => {
  const contacts = [{}, { ...fullContact, isPrimary: true }, { ...fullContact, firstName: 'Z', isPrimary: true }];
  const publications = ['123', '124', '125'].map((identifier) => ({ identifier, isPrimary: true }));
  t.strictSame(byKey({ contacts, publications }), {
    'contacts[2].isPrimary': ['is true, and so is that of contacts[1]; at most one may be primary'],
    'publications[1].isPrimary': ['is true, and so is that of publications[0]; at most one may be primary'],
    'publications[2].isPrimary': ['is true, and so is that of publications[0]; at most one may be primary'],
  });
  t.equal(byKey({ contacts: contacts.slice(0, 2), publications: publications.slice(0, 1) }), undefined);
});

t.test('publication identifiers have the form of their type', async (t) => {
  for (const publication of [
    { identifier: '12345' },
    { identifier: 'pmid:12345' },
    { identifier: 'PMID: 12345', type: 'pmid' },
    { identifier: '10.1000/182', type: 'doi' },
    { identifier: 'doi:10.1000/182' },
    { identifier: 'doi:10.1371/journal.pone.0123456' },
    { identifier: 'https://doi.org/10.1038/nature1', type: 'doi' },
    { identifier: 'http://dx.doi.org/10.1371/journal.pone.0123456' },
    { identifier: 'doi.org/10.1371/journal.pone.0123456' },
    { identifier: 'https://doi.org/doi:10.1371/journal.pone.0123456' },
    { identifier: 'https://pubmed.ncbi.nlm.nih.gov/12345678/', type: 'pmid' },
    { identifier: 'https://www.ncbi.nlm.nih.gov/pubmed/12345678' },
  ])
    t.equal(byKey({ publications: [publication] }), undefined, JSON.stringify(publication));
  for (const [publication, sentence] of [
    [{ identifier: `doi:10.1000/${'x'.repeat(23)}` }, 'has 31 characters; text of 3 to 30 characters is required'],
    [{ identifier: '12a45' }, "is '12a45'; a PubMed id is digits only"],
    [{ identifier: '10.1000/182' }, "is '10.1000/182'; a PubMed id is digits only (give it the type 'doi')"],
    [{ identifier: '11.1000/182', type: 'doi' }, "is '11.1000/182'; a DOI looks like '10.1000/182'"],
    [{ identifier: '10.1000/', type: 'doi' }, "is '10.1000/'; a DOI looks like '10.1000/182'"],
    [{ identifier: 'pmid:123', type: 'doi' }, "is 'pmid:123', but the type is 'doi'"],
  ] as const)
    t.strictSame(byKey({ publications: [publication] }), { 'publications[0].identifier': [sentence] });
});

t.test('a DOI that was copied from an address is stored decoded, and its length counts so', async (t) => {
  const stored: Readonly<Record<string, string>> = {
    'https://doi.org/10.1000%2F182': '10.1000/182',
    'https://doi.org/10.1000%2f182': '10.1000/182',
    'doi.org/doi%3A10.1000%2F182': '10.1000/182',
    'http://dx.doi.org/10.1002/(SICI)1%3C1::A%3E3': '10.1002/(SICI)1<1::A>3',
    'https://doi.org/10.1000/%E8%A1%A8': '10.1000/表',
    'https://doi.org/10.1000/100%25': '10.1000/100%',
    '10.1000%2Fx': '10.1000/x',
    'doi:10.1000%2Fx%28y%29': '10.1000/x(y)',
    // No addresses: the percent sign is a character of the DOI.
    '10.1000/x%2Fy': '10.1000/x%2Fy',
    'doi:10.1000/100%25': '10.1000/100%25',
    // No encodings, or of what nobody would see.
    'https://doi.org/10.1000/100%': '10.1000/100%',
    'https://doi.org/10.1000/%F6': '10.1000/%F6',
    'https://doi.org/10.1000/a%0Ab': '10.1000/a%0Ab',
    'https://doi.org/10.1000/a%E2%80%AEb': '10.1000/a%E2%80%AEb',
    // Of 28 characters, which take up 84.
    [`https://doi.org/10.1000/${'%C3%A9'.repeat(20)}`]: `10.1000/${'é'.repeat(20)}`,
  };
  for (const [given, identifier] of Object.entries(stored)) {
    t.strictSame(readPublicationIdentifier({ identifier: given, type: 'doi' }), { identifier, type: 'doi' }, given);
    t.equal(byKey({ publications: [{ identifier: given, type: 'doi' }] }), undefined, given);
  }
  t.strictSame(byKey({ publications: [{ identifier: 'https://doi.org/10.1000/a%20b', type: 'doi' }] }), {
    'publications[0].identifier': ["is 'https://doi.org/10.1000/a%20b'; a DOI looks like '10.1000/182'"],
  });
  t.strictSame(
    byKey({ publications: ['10.1000/x', 'doi:10.1000%2Fx'].map((identifier) => ({ identifier, type: 'doi' })) }),
    {
      publications: ['holds the same item at 0 and 1; each item may stand once'],
    },
  );
});

t.test('two publications may not be the same one in other words', async (t) => {
  t.strictSame(byKey({ publications: [{ identifier: '123' }, { identifier: 'pmid:123', type: 'pmid' }] }), {
    'publications[1].identifier': ['names the same publication as publications[0]'],
  });
});

t.test('years must not end before they start', async (t) => {
  t.strictSame(byKey({ datasetCharacteristics: { years: { start: 2001, end: 2000 } } }), {
    'datasetCharacteristics.years.end': ['is 2000, before the start 2001; it must not be earlier'],
  });
  t.equal(byKey({ datasetCharacteristics: { years: { start: 2000, end: 2000 } } }), undefined);
});

t.test('a controlled dataset has no days for approval', async (t) => {
  t.strictSame(byKey({ visibility: 'controlled', daysForApproval: 1 }), {
    daysForApproval: ['is 1; a controlled dataset has 0 days for approval'],
  });
  for (const daysForApproval of [-1, 0]) t.equal(byKey({ visibility: 'controlled', daysForApproval }), undefined);
});

t.test('install targets must be configured and enabled', async (t) => {
  t.strictSame(byKey({ installTargets: ['PlainSite', 'Nowhere', 'ClosedSite', 'plainsite'] }), {
    'installTargets[1]': [
      "is 'Nowhere'; install targets are PlainSite, GenomeSite, VectorSite, MicrobeSite, ClinicSite",
    ],
    'installTargets[2]': [
      "is 'ClosedSite', which is disabled; enabled are PlainSite, GenomeSite, VectorSite, MicrobeSite, ClinicSite",
    ],
    'installTargets[3]': [
      "is 'plainsite'; install targets are PlainSite, GenomeSite, VectorSite, MicrobeSite, ClinicSite",
    ],
  });
  t.strictSame(byKey({ installTargets: [] }), {
    installTargets: ['has 0 items; a list of at least 1 item is required'],
  });
});

t.test('the type must be registered, by any case of its name, and apply to every target', async (t) => {
  t.equal(byKey({ type: { name: 'GeneList', version: '1.0' } }), undefined);
  t.strictSame(byKey({ type: { name: 'genelist', version: '2.0' } }), {
    type: ["is 'genelist:2.0'; registered are 'genelist:1.0', 'rnaseq:1.0', 'vectors:2.0'"],
  });
  t.strictSame(
    byKey({
      type: { name: 'vectors', version: '2.0' },
      installTargets: ['VectorSite', 'PlainSite'],
      experimentalOrganism: organism,
    }),
    { type: ["is 'vectors:2.0', which does not apply to the install target 'PlainSite'"] },
  );
});

t.test('characteristics may have their old or their new name, not both', async (t) => {
  const years = { start: 2001, end: 2000 };
  const sentence = ['is 2000, before the start 2001; it must not be earlier'];
  t.strictSame(byKey({ studyCharacteristics: { years } }), { 'studyCharacteristics.years.end': sentence });
  t.strictSame(byKey({ datasetCharacteristics: { years } }, '1.7.0'), { 'datasetCharacteristics.years.end': sentence });
  t.strictSame(Object.keys(byKey({ installTargets: ['ClinicSite'], ...project }, '1.7.0') ?? {}), [
    'studyCharacteristics.studyDesign',
    'studyCharacteristics.studyType',
  ]);
  t.strictSame(byKey({ studyCharacteristics: {}, datasetCharacteristics: {} }), {
    studyCharacteristics: ['is the old name of datasetCharacteristics; only one of them may be given'],
  });
  t.strictSame(check.check({ ...soundDetails(), studyCharacteristics: { studyType: 'x' } }, '1.8.0').details, {
    ...soundDetails(),
    datasetCharacteristics: { studyType: 'x' },
  });
});

t.test('reports every fault at once', async (t) => {
  t.strictSame(faultsOf({ name: 'x', visibility: 'secret', installTargets: ['Nowhere'], funding: [{}], extra: 1 }), {
    general: [],
    byKey: {
      extra: [byKey({ extra: 1 })?.extra?.[0]],
      name: ['has 1 character; text of 3 to 1024 characters is required'],
      'funding[0].agency': ['is missing; text of 3 to 256 characters is required'],
      'funding[0].awardNumber': ['is missing; text of 3 to 64 characters is required'],
      visibility: ["is 'secret'; allowed: 'private', 'protected', 'public', 'controlled'"],
      'installTargets[0]': [
        "is 'Nowhere'; install targets are PlainSite, GenomeSite, VectorSite, MicrobeSite, ClinicSite",
      ],
    },
  });
});

t.test('hostile bodies are refused without harm', async (t) => {
  const nested = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
  const cases: readonly (readonly [string, unknown, object])[] = [
    ['a list', [1], { general: ['details must be a JSON object'], byKey: {} }],
    ['null', null, { general: ['details must be a JSON object'], byKey: {} }],
    ['U+0000', { ...soundDetails(), name: 'a\u0000bc' }, { byKey: { name: [/U\+0000/] } }],
    ['half a surrogate pair', { ...soundDetails(), name: 'abc\ud800' }, { byKey: { name: [/surrogate/] } }],
    ['deep nesting', { ...soundDetails(), deep: nested }, { byKey: { deep: [/^is not a known field/] } }],
    [
      '__proto__',
      JSON.parse(JSON.stringify(soundDetails()).replace('{', '{"__proto__":{"polluted":1},')),
      { byKey: Object.fromEntries([['__proto__', [/^is not a known field/]]]) },
    ],
  ];
  for (const [what, body, errors] of cases) {
    const checked = check.check(body, '1.8.0');
    t.match(checked.faults.errors(), errors, what);
  }
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
});

t.test('a body of 100,000 faults gets a short answer, soon', async (t) => {
  const funding = Array.from({ length: 100_000 }, () => ({}));
  const errors = faultsOf({ funding });
  t.equal(Object.keys(errors?.byKey ?? {}).length, 200);
  t.strictSame(errors?.general, ['199801 more faults are not listed']);
});

t.test("a target's own schema judges the stored document", async (t) => {
  const metaValidation = {
    type: 'object',
    required: ['shortAttribution'],
    properties: { datasetCharacteristics: { required: ['studyType'] }, owner: { type: 'integer' } },
  };
  for (const schema of [metaValidation, { ...metaValidation, $schema: 'http://json-schema.org/draft-07/schema#' }]) {
    const targets = new InstallTargets(
      SETTINGS.map((target) => (target.id === 'PlainSite' ? { ...target, metaValidation: schema } : target)),
    );
    const own = new DetailsCheck(targets, dataTypes());
    const judge = (details: CreateDetails) => {
      const faults = new Faults();
      own.checkDocument(metadataFromDetails(details, { owner: OWNER, created: '2030-01-01T00:00:00.000Z' }), faults);
      return faults.errors().byKey;
    };
    t.strictSame(judge({ ...soundDetails(), datasetCharacteristics: { studyDesign: 'x' } }), {
      shortAttribution: ['is missing; a value is required (by install target PlainSite)'],
      'datasetCharacteristics.studyType': ['is missing; a value is required (by install target PlainSite)'],
    });
    t.strictSame(judge({ ...soundDetails(), shortAttribution: 'Doe 2030' }), {});
    t.strictSame(judge({ ...soundDetails(), installTargets: ['GenomeSite'] }), {});
  }
});

t.test('metadata that no plugin takes are refused', async (t) => {
  const faults = new Faults();
  const details = { ...soundDetails(), description: 'é'.repeat(500_000) };
  const judge = new DetailsCheck(installTargets(), dataTypes());
  judge.checkDocument(metadataFromDetails(details, { owner: OWNER, created: '2030-01-01T00:00:00.000Z' }), faults);
  t.match(faults.errors().general, [/^the metadata come to 1000\d{3} bytes as they are stored; they may have 983040$/]);
});

t.test('a target schema that is none stops the start, naming the target', async (t) => {
  const targets = new InstallTargets([
    { id: targetId('PlainSite'), name: 'x', enabled: true, category: 'other', metaValidation: { type: 'words' } },
  ]);
  t.throws(() => new DetailsCheck(targets, dataTypes()), {
    message: "metaValidation of install target 'PlainSite' is not a JSON Schema",
  });
});
