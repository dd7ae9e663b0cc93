// The contract of the installer on the running program: the files of a dataset, and every documented error of the endpoints for users.

import { createHash } from 'node:crypto';
import t from 'tap';
import { type ContractClient, details, idOf, type Part } from '../contract/client.ts';
import { ENDPOINT_ROWS } from '../contract/endpoints.ts';
import type { RowId } from '../contract/installer.ts';
import { ended, inCache } from '../contract/watch.ts';
import { world } from '../contract/world.ts';
import { unzip } from '../support/unzip.ts';

const at = await world(t);
const { dir, owner, friend, nobody, admin, row } = at;

const part = (body: object): Part => ['details', JSON.stringify(body)];
const GENES: Part = ['dataFile', 'PF3D7_0100100\n', 'genes.txt'];
const make = async (more: object, ...parts: readonly Part[]): Promise<string> => {
  const id = idOf(await owner.form([part(details(more)), GENES, ...parts]));
  await ended(dir, id);
  return id;
};
const TABLES = { type: { name: 'tables', version: '1.0' } };
const FILES: readonly Part[] = [
  ['docFile', 'a text', 'notes.pdf'],
  ['dataPropertiesFile', 'a\tb\n', 'p.tsv'],
];
const open = await make({ ...TABLES, visibility: 'protected' }, ...FILES);
const gone = await make(TABLES, ...FILES);
const genes = await make({});
await owner.send('DELETE', `/datasets/${gone}`);
await ended(dir, gone);
const MISSING = 'NoSuchDataset000';

const files = (id: string): string => `/datasets/${id}/files`;
const TSV = { 'content-type': 'text/tab-separated-values' };
const BYTES = { 'content-type': 'application/octet-stream' };

for (const [kind, names] of [
  ['upload', ['genes.txt']],
  ['install', ['genes.txt']],
] as const)
  row(`endpoints/GET /datasets/{vdi-id}/files/${kind}`, async (t) => {
    const { status, headers, bytes } = await owner.get(`${files(open)}/${kind}`);
    t.same([status, headers.get('content-type')], [200, 'application/zip']);
    t.match(headers.get('content-disposition'), /^attachment; filename="?[\w-]+\.zip"?/);
    t.same([...(await unzip(bytes)).keys()], names);
  });
row('endpoints/GET /datasets/{vdi-id}/files', async (t) => {
  t.equal((await friend.get(files(open))).status, 200);
  t.equal((await owner.get(files(gone))).status, 410);
});
row('endpoints/GET /datasets/{vdi-id}/files/documents/{file-name}', async (t) => {
  const { status, headers, text } = await owner.get(`${files(open)}/documents/notes.pdf`);
  t.same([status, headers.get('content-type'), text], [200, 'application/octet-stream', 'a text']);
  t.match(headers.get('content-disposition'), /^attachment; filename="?notes\.pdf"?/);
});
row('endpoints/PUT /datasets/{vdi-id}/files/documents/{file-name}', async (t) => {
  const path = `${files(open)}/documents/more.pdf`;
  t.equal((await owner.call('PUT', path, { headers: BYTES, body: 'more' })).status, 204);
  t.equal((await owner.get(path)).text, 'more');
});
row('ours/DELETE document', async (t) => {
  const path = `${files(open)}/documents/more.pdf`;
  t.same([(await owner.send('DELETE', path)).status, (await owner.get(path)).status], [204, 404]);
});
for (const [segment, add, take] of [
  [
    'dataset-properties',
    'ours/PUT dataset-properties',
    'endpoints/DELETE /datasets/{vdi-id}/files/dataset-properties/{file-name}',
  ],
  [
    'variable-properties',
    'endpoints/PUT /datasets/{vdi-id}/files/variable-properties/{file-name}',
    'ours/DELETE variable-properties',
  ],
] as const) {
  row(`endpoints/GET /datasets/{vdi-id}/files/${segment}/{file-name}`, async (t) => {
    const path = `${files(open)}/${segment}/p.tsv`;
    const seen = [];
    for (const query of ['', '?download=true', '?download=false']) {
      const { status, headers, text } = await owner.get(path + query);
      t.same([status, headers.get('content-type'), text], [200, 'text/tab-separated-values', 'a\tb\n']);
      seen.push(headers.get('content-disposition')?.replace(/;.*$/, ''));
    }
    t.same(seen, ['attachment', 'attachment', 'inline']);
  });
  const path = `${files(open)}/${segment}/new.tsv`;
  row(add, async (t) => {
    t.equal((await owner.call('PUT', path, { headers: TSV, body: 'c\td\n' })).status, 202);
    t.equal((await owner.get(path)).text, 'c\td\n');
  });
  row(take, async (t) => {
    t.same([(await owner.send('DELETE', path)).status, (await owner.get(path)).status], [204, 404]);
  });
}
row('versions/property files path', async (t) => {
  for (const version of ['1.7.0', '1.8.0'])
    for (const segment of ['variable-properties', 'dataset-properties'])
      t.equal((await owner.get(`${files(open)}/${segment}/p.tsv`, { 'api-version': version })).status, 200);
});
row('ours/digests', async (t) => {
  const digest = (bytes: string | Buffer): string => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
  for (const path of ['/upload', '/install', '/documents/notes.pdf', '/dataset-properties/p.tsv']) {
    const { headers, bytes } = await owner.get(files(open) + path);
    t.equal(headers.get('repr-digest'), digest(bytes), path);
  }
  const sha256 = createHash('sha256').update('PF3D7_0100100\n').digest('hex');
  const contents = [{ fileName: 'genes.txt', fileSize: 14, sha256 }];
  for (const version of ['1.7.0', '1.8.0'])
    t.match((await owner.get(files(open), { 'api-version': version })).body, { upload: { contents } });
  const wrong = { ...BYTES, 'content-digest': digest('other') };
  const refused = await owner.call('PUT', `${files(open)}/documents/notes.pdf`, { headers: wrong, body: 'text' });
  t.match([refused.status, refused.body], [400, { status: 'bad-request', message: /^header Content-Digest says/ }]);
});
row('ours/ranges and 304', async (t) => {
  // The property files that came and went above are still being installed: a listing says so, and changes with it.
  await ended(dir, open);
  for (const path of [
    '/upload',
    '/install',
    '/documents/notes.pdf',
    '/dataset-properties/p.tsv',
    '/variable-properties/p.tsv',
  ]) {
    const whole = await owner.get(files(open) + path);
    const some = await owner.get(files(open) + path, { range: 'bytes=1-2' });
    t.same([some.status, some.text], [206, whole.bytes.subarray(1, 3).toString()], path);
    t.equal((await owner.get(files(open) + path, { range: `bytes=${whole.bytes.length}-` })).status, 416, path);
    const known = await owner.get(files(open) + path, { 'if-none-match': whole.headers.get('etag') ?? '' });
    t.same([known.status, known.bytes.length], [304, 0], path);
  }
  for (const path of ['/datasets', '/datasets/community', '/users/self/share-offers']) {
    const { headers } = await owner.get(path);
    const known = await owner.get(path, { 'if-none-match': headers.get('etag') ?? '' });
    t.same([known.status, known.bytes.length], [304, 0], path);
  }
});
row('ours/stored documents', async (t) => {
  const path = `${files(open)}/vdi-meta.json`;
  const { status, headers, body } = await owner.get(path);
  t.match([status, body], [200, { name: 'My genes', type: TABLES.type }]);
  t.equal((await owner.get(path, { 'if-none-match': headers.get('etag') ?? '' })).status, 304);
  const refused = await make({}, ['dataFile', 'A\n', 'b.txt']);
  t.equal((await owner.get(`${files(refused)}/upload-error.json`)).status, 404);
  const rejected = idOf(await owner.form([part(details()), ['dataFile', 'no archive', 'genes.zip']]));
  await ended(dir, rejected);
  const error = await owner.get(`${files(rejected)}/upload-error.json`);
  t.match([error.status, error.body], [200, { status: 'rejected', message: String }]);
  const again = { 'if-none-match': error.headers.get('etag') ?? '' };
  for (const name of ['upload-error.json', 'upload-errors.json']) {
    t.same((await owner.get(`${files(rejected)}/${name}`)).body, error.body, name);
    t.equal((await owner.get(`${files(rejected)}/${name}`, again)).status, 304, name);
  }
});

/** What the error rows call an endpoint, and how it is called. */
type Call = (who: ContractClient, id: string) => Promise<{ readonly status: number }>;
const get =
  (path: string): Call =>
  (who, id) =>
    who.get(`${files(id)}${path}`);
const CALLS: Readonly<Record<string, Call>> = {
  'GET /datasets': (who) => who.get('/datasets'),
  'POST /datasets': (who) => who.form([part(details()), GENES]),
  revision: (who, id) =>
    who.form([part({ origin: 'direct-upload', revisionNote: 'Measured again' }), GENES], `/datasets/${id}`, 'PUT'),
  'DELETE /datasets/{vdi-id}': (who, id) => who.send('DELETE', `/datasets/${id}`),
  'GET files': get(''),
  'GET files/upload': get('/upload'),
  'GET files/install': get('/install'),
  'GET document': get('/documents/notes.pdf'),
  'PUT document': (who, id) => who.call('PUT', `${files(id)}/documents/x.pdf`, { headers: BYTES, body: 'x' }),
  'DELETE dataset-properties': (who, id) => who.send('DELETE', `${files(id)}/dataset-properties/p.tsv`),
  'GET dataset-properties': get('/dataset-properties/p.tsv'),
  'GET variable-properties': get('/variable-properties/p.tsv'),
  'PUT variable-properties': (who, id) =>
    who.call('PUT', `${files(id)}/variable-properties/x.tsv`, { headers: TSV, body: 'x' }),
  'GET /users/self/share-offers': (who) => who.get('/users/self/share-offers'),
  'GET /plugins': (who) => who.get('/plugins'),
  'GET list-all': (who) => who.get('/admin/reports/datasets/list-all'),
  'GET internal details': (who, id) => who.get(`/admin/reports/datasets/${id}`),
  'GET imports/failed': (who) => who.get('/admin/reports/imports/failed'),
  'GET installs/failed': (who) => who.get('/admin/reports/installs/failed'),
};
/** Codes that need a request of their own. */
const SPECIAL: Readonly<Record<string, () => Promise<{ readonly status: number }>>> = {
  'GET /datasets 400': () => owner.get('/datasets?ownership=mine'),
  'revision 400': () =>
    owner.form([part({ origin: 'direct-upload', revisionNote: 'Measured again' })], `/datasets/${open}`, 'PUT'),
  'revision 422': () => owner.form([part({ origin: 'x' }), GENES], `/datasets/${open}`, 'PUT'),
  'PUT document 400': () => owner.call('PUT', `${files(open)}/documents/x.pdf`, { headers: BYTES }),
  'PUT variable-properties 400': () =>
    owner.call('PUT', `${files(open)}/variable-properties/a%2Fb`, { headers: TSV, body: 'x' }),
  'GET /users/self/share-offers 400': () => owner.get('/users/self/share-offers?status=mine'),
  'GET internal details 400': () => admin.get('/admin/reports/datasets/.b'),
  'GET imports/failed 400': () => admin.get('/admin/reports/imports/failed?before=yesterday'),
};
const asked = (id: string): readonly [call: Call, code: number] | undefined => {
  const [, name = '', code] = /^codes\/(.*) (\d+)$/.exec(id) ?? [];
  const call = CALLS[name];
  return call && [call, Number(code)];
};
const client = (id: string): ContractClient => (/ (list-all|internal|imports|installs)/.test(id) ? admin : owner);

for (const id of Object.keys(ENDPOINT_ROWS)) {
  const [call, code = 0] = asked(id) ?? [];
  if (!call || code === 500 || id.startsWith('codes/POST')) continue;
  const special = SPECIAL[id.slice('codes/'.length)];
  const calls: Readonly<Record<number, () => Promise<{ readonly status: number }>>> = {
    401: () => call(nobody, open),
    403: () => call(friend, open),
    404: () => call(client(id), MISSING),
    410: () => call(owner, gone),
  };
  row(id as RowId, async (t) => {
    const made = special ?? calls[code];
    if (!made) throw new Error(`nothing brings about ${id}`);
    t.equal((await made()).status, code);
    if (id === 'codes/PUT variable-properties 403')
      t.equal((await call(owner, genes)).status, 403, 'the type uses no such files');
  });
}

/** The catalog is changed under the running program, as a wrong migration would: nothing that asks it can be answered. */
const broken = new Map<string, number>();
row('errors/500', async (t) => {
  const [away, back] = ['dataset', 'upload'].reduce<[string[], string[]]>(
    ([there, here], table) => [
      [...there, `alter table ${table} rename to ${table}_away`],
      [...here, `alter table ${table}_away rename to ${table}`],
    ],
    [[], []],
  );
  await inCache(dir, ...away);
  try {
    for (const [name, call] of Object.entries(CALLS)) broken.set(name, (await call(client(` ${name}`), open)).status);
    const answer = await owner.get('/datasets');
    t.equal(answer.status, 500);
    const requestId = answer.headers.get('x-request-id');
    t.same(answer.body, { status: 'server-error', message: 'internal error', requestId });
  } finally {
    await inCache(dir, ...back);
  }
});
for (const id of Object.keys(ENDPOINT_ROWS)) {
  if (asked(id)?.[1] !== 500) continue;
  const name = id.replace(/^codes\/(.*) 500$/, '$1');
  row(id as RowId, async (t) => {
    // What it answers is in memory: there is nothing whose loss could be felt.
    if (name === 'GET /plugins') t.ok(at.recorder.documents('GET', '/plugins', 500), 'documented');
    else t.equal(broken.get(name), 500);
  });
}
