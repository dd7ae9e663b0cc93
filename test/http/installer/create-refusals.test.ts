import t from 'tap';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { soundDetails } from './installation.ts';
import {
  type AppOptions,
  detailsPart,
  FILE,
  type FormPart,
  installerApp,
  NOTHING,
  post,
  remains,
} from './installer-app.ts';

const db = await cacheDatabase(t);
const setup = (t: { teardown(fn: () => unknown): void }, options?: AppOptions) => installerApp(t, db, options);

const REFUSALS: readonly (readonly [string, readonly FormPart[], number, object])[] = [
  [
    'neither file nor url',
    [detailsPart(soundDetails())],
    400,
    { status: 'bad-request', message: "neither 'dataFile' nor 'url' is given; exactly one of them is needed" },
  ],
  [
    'a url after a file',
    [detailsPart(soundDetails()), FILE, ['url', 'http://example.org/a.txt']],
    400,
    { status: 'bad-request', message: "both 'dataFile' and 'url' are given; exactly one of them is needed" },
  ],
  [
    'a file after a url',
    [detailsPart(soundDetails()), ['url', 'http://example.org/a.txt'], FILE],
    400,
    { status: 'bad-request', message: "both 'dataFile' and 'url' are given; exactly one of them is needed" },
  ],
  ['no details', [FILE], 400, { status: 'bad-request', message: "the part 'details' is missing" }],
  [
    'details twice',
    [detailsPart(soundDetails()), FILE, ['meta', JSON.stringify(soundDetails())]],
    400,
    { status: 'bad-request', message: "part 'meta': the details are given twice" },
  ],
  [
    'a url twice',
    [
      ['url', 'http://example.org/a'],
      ['url', 'http://example.org/b'],
    ],
    400,
    { status: 'bad-request', message: "the part 'url' is given twice" },
  ],
  [
    'an unknown part',
    [detailsPart(soundDetails()), FILE, ['extra', 'x']],
    400,
    {
      status: 'bad-request',
      message: "unknown part 'extra'; known parts are details, meta, url, dataFile, file, docFile, dataPropertiesFile",
    },
  ],
  [
    'two data files of one name',
    [FILE, ['file', 'x', 'GENES.txt']],
    400,
    { status: 'bad-request', message: "part 'file': the file name 'GENES.txt' is given twice (case does not count)" },
  ],
  [
    'a file name with a path',
    [FILE, ['docFile', 'x', '../a.txt']],
    400,
    { status: 'bad-request', message: "part 'docFile': the file name '../a.txt' must not hold / or \\" },
  ],
  [
    'a file part that is no file',
    [['dataFile', 'x']],
    400,
    { status: 'bad-request', message: "part 'dataFile': the file name '' is empty" },
  ],
  [
    'a wrong extension, details first',
    [detailsPart(soundDetails()), ['dataFile', 'x', 'a.exe']],
    422,
    {
      status: 'invalid-input',
      message: 'the request holds values that are not accepted; see errors',
      errors: {
        general: [],
        byKey: { dataFile: ["'a.exe' has the wrong extension; genelist:1.0 allows .txt, .csv, .zip, .tar.gz, .tgz"] },
      },
    },
  ],
  [
    'wrong, empty and unwanted files, details last',
    [
      ['dataFile', 'x', 'a.exe'],
      ['dataFile', '', 'b.txt'],
      ['dataPropertiesFile', 'x', 'p.tsv'],
      detailsPart(soundDetails()),
    ],
    422,
    {
      status: 'invalid-input',
      message: 'the request holds values that are not accepted; see errors',
      errors: {
        general: [],
        byKey: {
          dataFile: [
            "'a.exe' has the wrong extension; genelist:1.0 allows .txt, .csv",
            "'b.txt' is empty; it must have at least one byte",
          ],
          dataPropertiesFile: ['is given, but genelist:1.0 does not use data property files'],
        },
      },
    },
  ],
  [
    'faulty metadata',
    [FILE, detailsPart({ ...soundDetails(), name: 'x', contacts: [{ isPrimary: true, email: 'a@b' }] })],
    422,
    {
      status: 'invalid-input',
      message: 'the request holds values that are not accepted; see errors',
      errors: {
        general: [],
        byKey: {
          name: ['has 1 character; text of 3 to 1024 characters is required'],
          'contacts[0].email': ['has 3 characters; text of 5 to 4000 characters is required'],
        },
      },
    },
  ],
  [
    'a url where they are not enabled',
    [detailsPart(soundDetails()), ['url', 'http://example.org/a.txt']],
    422,
    {
      status: 'invalid-input',
      message: 'the request holds values that are not accepted; see errors',
      errors: {
        general: [],
        byKey: {
          url: ['is given, but uploads by URL are not enabled on this server (restService.urlUploads)'],
        },
      },
    },
  ],
];
for (const [what, parts, status, body] of REFUSALS)
  t.test(`refuses ${what}, and leaves nothing`, async (t) => {
    const app = await setup(t);
    const user = newUser();
    const answer = await post(app, user, ...parts);
    t.strictSame([answer.status, answer.body], [status, body]);
    t.strictSame(await remains(app, db, user), NOTHING);
  });

t.test('refuses bodies that are no JSON, no UTF-8, no multipart', async (t) => {
  const app = await setup(t);
  const user = newUser();
  const broken = await post(app, user, ['details', '{"name":'], FILE);
  t.match([broken.status, broken.body], [400, { status: 'bad-request', message: /^part 'details' is not JSON: / }]);
  const latin = await post(app, user, ['details', Buffer.from([0x22, 0xe4, 0x22]), 'details.json'], FILE);
  t.match([latin.status, latin.body], [400, { status: 'bad-request', message: "part 'details' is not UTF-8" }]);
  const plain = await app.call(user, 'POST', '/datasets', { body: 'x', headers: { 'content-type': 'text/plain' } });
  t.match([plain.status, plain.body], [415, { status: 'bad-request' }]);
  t.strictSame(await remains(app, db, user), NOTHING);
});
