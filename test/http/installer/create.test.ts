import { request } from 'node:http';
import t from 'tap';
import type { DatasetId } from '../../../engine/model/ids.ts';
import { parseMetadata } from '../../../engine/model/metadata.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { soundDetails } from './installation.ts';
import { type App, type AppOptions, detailsPart, type FormPart, form, installerApp, MIB } from './installer-app.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const FILE: FormPart = ['dataFile', 'PF3D7_0100100\n', 'genes.txt'];
const setup = (t: { teardown(fn: () => unknown): void }, options?: AppOptions) => installerApp(t, db, options);

const post = (app: App, user: string, ...parts: readonly FormPart[]) =>
  app.call(user, 'POST', '/datasets', { body: form(...parts) });

/** Nothing of the user is left anywhere. */
async function remains(app: App, user: ReturnType<typeof newUser>) {
  const [rows] = await db.query<{ uploads: number; datasets: number }>(
    `select (select count(*) from upload where owner_id = $1::numeric) as uploads,
       (select count(*) from dataset where owner_id = $1::numeric) as datasets`,
    [user],
  );
  return { ...rows, reserved: await app.uploads.usage(user, signal), objects: app.store.keys() };
}
const NOTHING = { uploads: 0, datasets: 0, reserved: 0, objects: [] };

t.test('accepts an upload: everything is kept, the job is queued, the answer leads to it', async (t) => {
  const app = await setup(t);
  const user = newUser();
  const content = Buffer.from(Uint8Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256));
  const answer = await post(
    app,
    user,
    ['dataFile', content, 'a.txt'],
    detailsPart({ ...soundDetails(), visibility: 'controlled', name: '  Genes  ' }),
    ['docFile', 'read me', 'Ü notes.pdf'],
    ['file', 'second', 'b.csv'],
    ['url', ''],
  );
  t.equal(answer.status, 202);
  const { datasetId } = answer.body as { datasetId: DatasetId };
  t.match(datasetId, /^[0-9A-Za-z]{16}$/);
  t.equal(answer.headers.get('location'), `${app.url}/datasets/${datasetId}`);
  const prefix = `${user}/${datasetId}`;
  t.strictSame(app.store.keys(), [
    `${prefix}/documents/Ü notes.pdf`,
    `${prefix}/raw/a.txt`,
    `${prefix}/raw/b.csv`,
    `${prefix}/vdi-meta.json`,
  ]);
  const stored = await app.store.get(`${prefix}/raw/a.txt`, undefined, signal);
  t.ok(Buffer.concat((await stored?.body.toArray()) ?? []).equals(content), 'stored byte for byte');
  const metadata = parseMetadata(app.store.text(`${prefix}/vdi-meta.json`) ?? '', 'meta');
  t.match(metadata, { owner: user, name: 'Genes', visibility: 'protected', daysForApproval: 0 });
  t.strictSame(await app.uploads.source(datasetId, signal), {
    kind: 'files',
    files: [
      { name: 'a.txt', size: 70_000 },
      { name: 'b.csv', size: 6 },
    ],
  });
  t.equal(await app.uploads.usage(user, signal), 70_006);
  t.match(await app.queries.view(datasetId, signal), { state: 'live', upload: { status: 'running' }, metadata });
  t.strictSame((await app.queries.files(datasetId, signal)).documents, [{ name: 'Ü notes.pdf', size: 7 }]);
  t.match(app.jobs, [{ lane: 'upload', dataset: datasetId, owner: user, source: 'api' }]);
});

t.test('the JSON part may be a file, be named meta and come first', async (t) => {
  const app = await setup(t);
  const answer = await post(app, newUser(), ['meta', JSON.stringify(soundDetails()), 'meta.json'], FILE);
  t.equal(answer.status, 202);
});

t.test('both interface versions speak of the same metadata', async (t) => {
  const app = await setup(t);
  const user = newUser();
  for (const version of ['1.7.0', '1.8.0'])
    for (const field of ['studyCharacteristics', 'datasetCharacteristics']) {
      const body = form(detailsPart({ ...soundDetails(), [field]: { studyType: 'x' } }), FILE);
      const answer = await app.call(user, 'POST', '/datasets', { body, headers: { 'api-version': version } });
      t.equal(answer.status, 202);
      const { datasetId } = answer.body as { datasetId: DatasetId };
      const view = await app.queries.view(datasetId, signal);
      t.strictSame(view?.metadata.datasetCharacteristics, { studyType: 'x' });
    }
});

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
    t.strictSame(await remains(app, user), NOTHING);
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
  t.strictSame(await remains(app, user), NOTHING);
});

t.test('lets in registered users only', async (t) => {
  const app = await setup(t);
  const answers = await Promise.all(
    [undefined, 'guest-7', 'nonsense'].map((user) => app.call(user, 'POST', '/datasets', { body: form(FILE) })),
  );
  t.strictSame(
    answers.map((answer) => answer.status),
    [401, 403, 401],
  );
  t.match(answers[0]?.body, { status: 'unauthorized' });
});

t.test('metadata that comes first is judged before any file is kept', async (t) => {
  const app = await setup(t);
  const answer = await post(app, newUser(), detailsPart({ ...soundDetails(), name: '' }), FILE);
  t.equal(answer.status, 422);
  t.strictSame(app.store.changes, []);
});

t.test('a target’s own schema is asked last, in the caller’s spelling', async (t) => {
  const metaValidation = { properties: { datasetCharacteristics: { required: ['studyDesign'] } } };
  const app = await setup(t, {
    settings: {
      installTargets: [{ id: 'PlainSite' as never, name: 'Plain', enabled: true, category: 'other', metaValidation }],
    },
  });
  const user = newUser();
  const answer = await post(
    app,
    user,
    detailsPart({ ...soundDetails(), studyCharacteristics: { studyType: 'x' } }),
    FILE,
  );
  t.equal(answer.status, 422);
  t.strictSame((answer.body as { errors: object }).errors, {
    general: [],
    byKey: { 'studyCharacteristics.studyDesign': ['is missing; a value is required (by install target PlainSite)'] },
  });
  t.strictSame(await remains(app, user), NOTHING);
});

t.test('property files are kept where the type uses them, and required of a public dataset', async (t) => {
  const app = await setup(t);
  const user = newUser();
  const details = detailsPart({ ...soundDetails(), type: { name: 'RNASeq', version: '1.0' }, visibility: 'public' });
  const refused = await post(app, user, details, ['dataFile', 'x', 'a.bam']);
  t.strictSame((refused.body as { errors: object }).errors, {
    general: [],
    byKey: { dataPropertiesFile: ['is missing; a public dataset of rnaseq:1.0 needs one'] },
  });
  t.strictSame(await remains(app, user), NOTHING);
  const taken = await post(app, user, details, ['dataFile', 'x', 'a.bam'], ['dataPropertiesFile', 'id\n', 'p.tsv']);
  t.equal(taken.status, 202);
  const { datasetId } = taken.body as { datasetId: DatasetId };
  t.equal(app.store.text(`${user}/${datasetId}/datasetProperties/p.tsv`), 'id\n');
  t.strictSame((await app.queries.files(datasetId, signal)).properties, [{ name: 'p.tsv', size: 3 }]);
});

t.test('an upload beyond its largest size is refused, announced or not, and leaves nothing', async (t) => {
  const app = await setup(t);
  const user = newUser();
  const announced = await post(app, user, ['dataFile', Buffer.alloc(3 * MIB), 'a.txt']);
  t.match([announced.status, announced.body], [413, { status: 'bad-request' }]);
  t.strictSame(app.store.changes, []);
  const sent = await streamed(app, user, [detailsPart(soundDetails())], 3 * MIB);
  t.strictSame(sent, {
    status: 413,
    body: {
      status: 'bad-request',
      message: `the upload is larger than ${2 * MIB} bytes, which is the most allowed`,
    },
  });
  t.strictSame(await remains(app, user), NOTHING);
});

t.test('an upload beyond the quota is refused, announced or not, and leaves what was there', async (t) => {
  const app = await setup(t, { settings: { userMaxStorageBytes: 1_000_000 } });
  const user = newUser();
  const first = await streamed(app, user, [detailsPart(soundDetails())], 600);
  t.equal(first.status, 202);
  const before = app.store.keys();
  const message = 'the upload would exceed your storage quota of 1000000 bytes';
  const announced = await post(app, user, detailsPart(soundDetails()), ['dataFile', Buffer.alloc(999_500), 'a.zip']);
  t.match([announced.status, announced.body], [413, { status: 'bad-request', message }]);
  const sent = await streamed(app, user, [detailsPart(soundDetails())], 999_401);
  t.match([sent.status, sent.body], [413, { status: 'bad-request', message }]);
  t.strictSame(await remains(app, user), { uploads: 1, datasets: 1, reserved: 600, objects: before });
  const exact = await streamed(app, user, [detailsPart(soundDetails())], 999_400);
  t.equal(exact.status, 202);
  t.equal(await app.uploads.usage(user, signal), 1_000_000);
});

t.test('of two uploads at once that do not both fit, one is refused', async (t) => {
  const app = await setup(t, { settings: { userMaxStorageBytes: 1_000_000 } });
  const user = newUser();
  const both = await Promise.all(
    [1, 2].map(() => post(app, user, detailsPart(soundDetails()), ['dataFile', Buffer.alloc(600_000), 'a.zip'])),
  );
  t.strictSame(both.map((answer) => answer.status).sort(), [202, 413]);
  t.equal(await app.uploads.usage(user, signal), 600_000);
});

t.test('a user may have a few uploads under way, no more', async (t) => {
  const app = await setup(t);
  const user = newUser();
  const open = [openUpload(app, user), openUpload(app, user)];
  await Promise.all(open.map((upload) => upload.stored));
  const third = await post(app, user, detailsPart(soundDetails()), FILE);
  t.match([third.status, third.body], [429, { status: 'bad-request' }]);
  t.equal(third.headers.get('retry-after'), '10');
  const other = await post(app, newUser(), detailsPart(soundDetails()), FILE);
  t.equal(other.status, 202);
  const gone = app.abandoned();
  open[0]?.abort();
  await gone;
  const next = await post(app, user, detailsPart(soundDetails()), FILE);
  t.equal(next.status, 202);
  const last = app.abandoned();
  open[1]?.abort();
  await last;
});

t.test('an upload cut off in the middle leaves no object, no row and no reservation', async (t) => {
  const app = await setup(t);
  const user = newUser();
  const upload = openUpload(app, user);
  await upload.stored;
  t.not((await remains(app, user)).reserved, 0);
  const abandoned = app.abandoned();
  upload.abort();
  await abandoned;
  t.strictSame(await remains(app, user), NOTHING);
});

t.test('a store that is away answers 503 and leaves nothing', async (t) => {
  const { transient } = await import('../../../engine/failure.ts');
  for (const failing of ['dataFile', 'vdi-meta']) {
    const app = await setup(t);
    const user = newUser();
    app.store.onCall = (method, key) => {
      if (method === 'put' && (failing === 'dataFile' || key.endsWith('vdi-meta.json')))
        throw transient('the store is away');
    };
    const answer = await post(app, user, detailsPart(soundDetails()), FILE);
    t.match([answer.status, answer.body], [503, { status: 'server-error', requestId: String }], failing);
    t.strictSame(await remains(app, user), NOTHING);
  }
});

t.test('uploads by URL', async (t) => {
  const asked: string[] = [];
  const app = await setup(t, {
    probeUrl: async (url) => {
      asked.push(url.href);
      if (url.pathname === '/gone.txt') return { kind: 'failed', message: 'the URL answered 403' };
      if (url.hostname === 'localhost') return { kind: 'refused', reason: 'leads to a private address' };
      return { kind: 'found', fileName: url.pathname.slice(1) };
    },
  });
  const user = newUser();
  const send = (url: string) => post(app, user, ['url', url], detailsPart(soundDetails()));
  const faults = async (url: string) => ((await send(url)).body as { errors: { byKey: object } }).errors.byKey;
  await t.test('are accepted when something is there', async (t) => {
    const answer = await send(' https://example.org/genes.txt ');
    t.equal(answer.status, 202);
    const { datasetId } = answer.body as { datasetId: DatasetId };
    const url = 'https://example.org/genes.txt';
    t.strictSame(await app.uploads.source(datasetId, signal), { kind: 'url', url });
    t.equal((await app.queries.view(datasetId, signal))?.metadata.sourceUrl, url);
    t.strictSame(asked.splice(0), [url]);
  });
  await t.test('are 424 when nothing can be fetched', async (t) => {
    const answer = await send('https://example.org/gone.txt');
    t.strictSame(
      [answer.status, answer.body],
      [
        424,
        {
          status: 'failed-dependency',
          message: 'the URL answered 403',
          dependency: 'https://example.org/gone.txt',
        },
      ],
    );
  });
  await t.test('are 422 when the address or its file is not accepted', async (t) => {
    t.strictSame(await faults('http://localhost/a.txt'), { url: ['leads to a private address'] });
    t.strictSame(await faults('http://example.org/a.exe'), {
      url: ["'a.exe' has the wrong extension; genelist:1.0 allows .txt, .csv, .zip, .tar.gz, .tgz"],
    });
    asked.length = 0;
    for (const url of ['ftp://example.org/a.txt', 'no address', 'file:///etc/passwd'])
      t.strictSame(await faults(url), { url: [`is '${url}'; an http or https URL is needed`] });
    t.strictSame(await faults('http://a'), { url: ["is 'http://a'; at least 10 characters are needed"] });
    t.strictSame(asked, []);
  });
});

/** A chunked request of some parts and one data file of zeros. */
async function streamed(app: App, user: string, parts: readonly FormPart[], bytes: number) {
  const upload = chunked(app, user);
  for (const [name, content] of parts)
    upload.write(`--B\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`);
  upload.write(fileHead('zeros.zip'));
  upload.write(Buffer.alloc(bytes));
  upload.end('\r\n--B--\r\n');
  const response = await upload.response;
  const text = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, body: JSON.parse(text) as unknown };
}

/** A request whose first file is stored and whose second never ends. */
function openUpload(app: App, user: string) {
  const stored = new Promise<void>((resolve) => {
    const before = app.store.onCall;
    app.store.onCall = (method, key) => {
      before(method, key);
      if (method === 'put' && key.startsWith(user) && key.endsWith('two.txt')) resolve();
    };
  });
  const upload = chunked(app, user);
  upload.response.catch(() => undefined);
  upload.write(`${fileHead('one.txt')}first\r\n`);
  upload.write(`${fileHead('two.txt')}second`);
  return { stored, abort: () => upload.destroy() };
}

const fileHead = (name: string): string =>
  `--B\r\ncontent-disposition: form-data; name="dataFile"; filename="${name}"\r\ncontent-type: text/plain\r\n\r\n`;

function chunked(app: App, user: string) {
  const outgoing = request({
    port: app.port,
    path: '/datasets',
    method: 'POST',
    headers: {
      authorization: `Bearer ${user}`,
      'content-type': 'multipart/form-data; boundary=B',
      'transfer-encoding': 'chunked',
    },
  });
  const response = new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
  });
  return {
    response,
    write: (bytes: string | Buffer) => void outgoing.write(bytes),
    end: (bytes: string) => void outgoing.end(bytes),
    destroy: () => void outgoing.destroy(),
  };
}
