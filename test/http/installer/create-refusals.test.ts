import t from 'tap';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { soundDetails } from './installation.ts';
import { detailsPart, FILE, type FormPart, installerApp, NOTHING, post, remains } from './installer-app.ts';

const db = await cacheDatabase(t);

const DETAILS = detailsPart(soundDetails());
const URL_PART: FormPart = ['url', 'http://example.org/a.txt'];
/** The message of a 400, or the faults of a 422 by key. */
const REFUSALS: readonly (readonly [string, readonly FormPart[], string | Record<string, readonly string[]>])[] = [
  [
    'neither file nor url',
    [DETAILS],
    "neither 'dataFile' nor 'url' is given, nor 'uploadIds'; expected exactly one of them",
  ],
  [
    'a url after a file',
    [DETAILS, FILE, URL_PART],
    "more than one of 'dataFile', 'url' and 'uploadIds' is given; expected exactly one of them",
  ],
  [
    'a file after a url',
    [DETAILS, URL_PART, FILE],
    "more than one of 'dataFile', 'url' and 'uploadIds' is given; expected exactly one of them",
  ],
  ['no details', [FILE], "the part 'details' is missing"],
  [
    'details twice',
    [DETAILS, FILE, ['meta', JSON.stringify(soundDetails())]],
    "part 'meta': the details are given twice",
  ],
  ['a url twice', [URL_PART, ['url', 'http://example.org/b']], "the part 'url' is given twice"],
  [
    'an unknown part',
    [DETAILS, FILE, ['extra', 'x']],
    "unknown part 'extra'; known parts are details, meta, url, uploadIds, dataFile, file, docFile, dataPropertiesFile",
  ],
  [
    'two data files of one name',
    [FILE, ['file', 'x', 'GENES.txt']],
    "part 'file': the file name 'GENES.txt' is given twice (case does not count)",
  ],
  [
    'a file name with a path',
    [FILE, ['docFile', 'x', '../a.txt']],
    "part 'docFile': the file name '../a.txt' must not hold / or \\",
  ],
  ['a file part that is not a file', [['dataFile', 'x']], "part 'dataFile': the file name '' is empty"],
  [
    'a wrong extension, details first',
    [DETAILS, ['dataFile', 'x', 'a.exe']],
    { dataFile: ["'a.exe' has the wrong extension; genelist:1.0 allows .txt, .csv, .zip, .tar.gz, .tgz"] },
  ],
  [
    'wrong, empty and unwanted files, details last',
    [['dataFile', 'x', 'a.exe'], ['dataFile', '', 'b.txt'], ['dataPropertiesFile', 'x', 'p.tsv'], DETAILS],
    {
      dataFile: [
        "'a.exe' has the wrong extension; genelist:1.0 allows .txt, .csv",
        "'b.txt' is empty; it must have at least one byte",
      ],
      dataPropertiesFile: ['is given, but genelist:1.0 does not use data property files'],
    },
  ],
  [
    'faulty metadata',
    [FILE, detailsPart({ ...soundDetails(), name: 'x', contacts: [{ isPrimary: true, email: 'a@b' }] })],
    {
      name: ['has 1 character; text of 3 to 1024 characters is required'],
      'contacts[0].email': ['has 3 characters; text of 5 to 4000 characters is required'],
    },
  ],
  [
    'a url where they are not enabled',
    [DETAILS, URL_PART],
    { url: ['is given, but uploads by URL are not enabled on this server (restService.urlUploads)'] },
  ],
];
const FAULTY = { status: 'invalid-input', message: 'the request holds values that are not accepted; see errors' };
for (const [what, parts, told] of REFUSALS)
  t.test(`refuses ${what}, and leaves nothing`, async (t) => {
    const app = await installerApp(t, db);
    const user = newUser();
    const { status, body } = await post(app, user, ...parts);
    const expected =
      typeof told === 'string'
        ? [400, { status: 'bad-request', message: told }]
        : [422, { ...FAULTY, errors: { general: [], byKey: told } }];
    t.strictSame([status, body], expected);
    t.strictSame(await remains(app, db, user), NOTHING);
  });

t.test('refuses bodies that are no JSON, no UTF-8, no multipart', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  t.match(await post(app, user, ['details', '{"name":'], FILE), {
    status: 400,
    body: { status: 'bad-request', message: /^part 'details' is not JSON: / },
  });
  t.match(await post(app, user, ['details', Buffer.from([0x22, 0xe4, 0x22]), 'details.json'], FILE), {
    status: 400,
    body: { status: 'bad-request', message: "part 'details' is not UTF-8" },
  });
  t.match(await app.call(user, 'POST', '/datasets', { body: 'x', headers: { 'content-type': 'text/plain' } }), {
    status: 415,
    body: { status: 'bad-request' },
  });
  t.strictSame(await remains(app, db, user), NOTHING);
});
