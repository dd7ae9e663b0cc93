// What POST /datasets refuses, with status and whole body, on the running program (docs/contract/installer.md#errors).

import t from 'tap';
import { Api, detailsOf, formOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const api = new Api(app.endpoints.installer, await app.token('3'));

const genes = { name: 'genes.txt', content: 'A1\nA2\n' };
const url = 'http://data.example/genes.txt';

const bad = (message: string): object => ({ code: 400, body: { status: 'bad-request', message } });
const invalid = (byKey: Record<string, readonly string[]>): object => ({
  code: 422,
  body: {
    status: 'invalid-input',
    message: 'the request holds values that are not accepted; see errors',
    errors: { general: [], byKey },
  },
});
const contact = (firstName: string): object => ({
  firstName,
  lastName: 'Lovelace',
  email: 'ada@example.org',
  affiliation: 'Analytical Society',
  country: 'UK',
  isPrimary: true,
});
const missingForPublic = ['is missing; it is required of every contact of a dataset that is public'];

const CASES: readonly (readonly [string, ReturnType<typeof formOf>, object])[] = [
  ['no details', formOf(undefined, [genes]), bad("the part 'details' is missing")],
  ['broken JSON', formOf('{"name":', [genes]), bad("part 'details' is not JSON: Unexpected end of JSON input")],
  [
    'neither file nor url',
    formOf(detailsOf('genelist'), []),
    bad("neither 'dataFile' nor 'url' is given, nor 'uploadIds'; expected exactly one of them"),
  ],
  [
    'both file and url',
    formOf(detailsOf('genelist'), [genes], url),
    bad("more than one of 'dataFile', 'url' and 'uploadIds' is given; expected exactly one of them"),
  ],
  [
    'a file name that is a path',
    formOf(detailsOf('genelist'), [{ ...genes, name: '../genes.txt' }]),
    bad("part 'dataFile': the file name '../genes.txt' must not hold / or \\"),
  ],
  [
    'an unknown target',
    formOf(detailsOf('genelist', { installTargets: ['AlphaDB', 'GammaDB'] }), [genes]),
    invalid({ 'installTargets[1]': ["is 'GammaDB'; install targets are AlphaDB, BetaDB"] }),
  ],
  [
    'an unknown type',
    formOf(detailsOf('genes'), [genes]),
    invalid({
      type: [
        "is 'genes:1.0'; registered are 'genelist:1.0', 'isasimple:1.0', 'biom:1.0', 'rnaseq:1.0', 'lightweight:1.0'",
      ],
    }),
  ],
  [
    'a bad extension',
    formOf(detailsOf('rnaseq'), [{ name: 'x.exe', content: 'x' }]),
    invalid({
      dataFile: [
        "'x.exe' has the wrong extension; rnaseq:1.0 allows .tabular, .txt, .tsv, .bw, .bigwig, .zip, .tar.gz, .tgz",
      ],
    }),
  ],
  [
    'two primary contacts',
    formOf(detailsOf('genelist', { contacts: [contact('Ada'), contact('Augusta')] }), [genes]),
    invalid({
      'contacts[1].isPrimary': ['is true, and so is that of contacts[0]; at most one may be primary'],
    }),
  ],
  [
    'contact fields that a public dataset needs',
    formOf(detailsOf('genelist', { visibility: 'public', contacts: [{ firstName: 'Ada' }] }), [genes]),
    invalid({
      'contacts[0].lastName': missingForPublic,
      'contacts[0].email': missingForPublic,
      'contacts[0].affiliation': missingForPublic,
      'contacts[0].country': missingForPublic,
    }),
  ],
  [
    'several faults at once',
    formOf(detailsOf('genelist', { name: 'ab', daysForApproval: 400 }), [genes]),
    invalid({
      name: ['has 2 characters; text of 3 to 1024 characters is required'],
      daysForApproval: ['is 400; a whole number from -1 to 365 is required'],
    }),
  ],
];

for (const [what, form, expected] of CASES)
  t.test(`refuses ${what}`, async (t) => {
    const response = await api.post(form);
    t.same({ code: response.status, body: await response.json() }, expected);
  });

t.test('nothing of what was refused is kept', async (t) => {
  t.same(await api.json('/datasets'), []);
});
