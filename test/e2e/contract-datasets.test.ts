// The contract of the installer on the running program: datasets from upload to deletion, as their owner and others see them.

import { hash } from 'node:crypto';
import t, { type Test } from 'tap';
import { request } from 'undici';
import { type Answer, details, idOf, type Part } from '../contract/client.ts';
import { FIELD_ROWS } from '../contract/fields.ts';
import type { RowId } from '../contract/installer.ts';
import { ended } from '../contract/watch.ts';
import { FRIEND, GUEST, OWNER, STRANGER, TARGETS, world } from '../contract/world.ts';
import { framesOf, take } from '../support/event-frames.ts';
import { longshore } from '../support/longshore.ts';
import { remoteServer } from '../support/remote-server.ts';

const at = await world(t);
const { dir, owner, friend, stranger, guest, row } = at;

const OLD = { 'api-version': '1.7.0' };
const GENES: Part = ['dataFile', 'PF3D7_0100100\n', 'genes.txt'];
const DOCUMENT: Part = ['docFile', 'a text', 'notes.pdf'];
const part = (body: object): Part => ['details', JSON.stringify(body)];
const bodyOf = async (answer: Promise<Answer>): Promise<Record<string, unknown>> =>
  (await answer).body as Record<string, unknown>;
const owned = (answer: Promise<Answer>): Promise<readonly Record<string, unknown>[]> =>
  answer.then(({ body }) => body as readonly Record<string, unknown>[]);
const share = async (id: string, recipient: string, accept = true): Promise<void> => {
  await owner.send('PUT', `/datasets/${id}/shares/${recipient}/offer`, { action: 'grant' });
  if (accept) await friend.send('PUT', `/datasets/${id}/shares/${recipient}/receipt`, { action: 'accept' });
};

const STUDY = { studyDesign: 'cohort', studyType: 'observational', countries: ['Kenya'] };
const SOURCES = [{ url: 'https://data.example/', version: '7' }];
const remote = await remoteServer(t, (_request, response) => void response.end('A1\nA2\n'));
const sourceUrl = remote.url('/genes.txt').href;

const first = idOf(
  await owner.form([
    part(
      details({
        installTargets: [TARGETS.other, TARGETS.second],
        description: 'At length',
        projectName: 'The project',
        datasetCharacteristics: STUDY,
        daysForApproval: 14,
        dataDisclaimer: 'As is',
        datasetSources: SOURCES,
      }),
    ),
    GENES,
    ['dataFile', 'PF3D7_0100200\n', 'more.txt'],
    DOCUMENT,
  ]),
);
const second = idOf(await owner.form([part(details({ projectName: 'The project' })), ['url', sourceUrl]]));
const table = idOf(
  await owner.form([
    part(details({ type: { name: 'tables', version: '1.0' }, installTargets: [TARGETS.second] })),
    GENES,
    ['dataPropertiesFile', 'a\tb\n', 'p.tsv'],
  ]),
);
for (const id of [first, second, table]) await ended(dir, id);
await share(first, FRIEND);
await share(table, FRIEND, false);

const OWNER_VIEW = {
  userId: Number(OWNER),
  firstName: `First${OWNER}`,
  lastName: `Last${OWNER}`,
  email: `user${OWNER}@example.org`,
  affiliation: '',
};
const TYPE = { name: 'genes', version: '1.0', category: 'The genes' };
const complete = { status: 'complete' };
const STATUS = (...targets: readonly string[]) => ({
  upload: { status: 'success' },
  import: { status: 'complete' },
  install: targets.map((installTarget) => ({ installTarget, meta: complete, data: complete })),
});

/** A test of each field of a table: whole values, except for what only the program knows. */
const fieldRows = (group: string, record: () => Promise<Record<string, unknown>>, fields: Record<string, unknown>) => {
  for (const [field, wanted] of Object.entries(fields)) {
    const id = `${group}/${field}`;
    if (!(id in FIELD_ROWS)) throw new Error(`${id} is no row`);
    row(id as RowId, async (t) => {
      const value = (await record())[field];
      if (wanted instanceof RegExp) t.match(value, wanted);
      else t.same(value, wanted);
    });
  }
};

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const listed = async (id: string): Promise<Record<string, unknown>> =>
  (await owned(owner.get('/datasets'))).find((item) => item.datasetId === id) ?? {};
fieldRows('listing', () => listed(first), {
  datasetId: first,
  owner: OWNER_VIEW,
  type: TYPE,
  visibility: 'private',
  name: 'My genes',
  origin: 'direct-upload',
  installTargets: [TARGETS.other, TARGETS.second],
  status: STATUS(TARGETS.other, TARGETS.second),
  shares: [
    { userId: Number(FRIEND), firstName: `First${FRIEND}`, lastName: `Last${FRIEND}`, affiliation: '', accepted: true },
  ],
  fileCount: 2,
  fileSizeTotal: 28,
  created: INSTANT,
  summary: 'Genes that I like',
  description: 'At length',
});

const shown = (id: string, headers = {}): Promise<Record<string, unknown>> =>
  bodyOf(owner.get(`/datasets/${id}`, headers));
fieldRows('dataset', () => shown(second), {
  datasetId: second,
  visibility: 'private',
  owner: OWNER_VIEW,
  created: INSTANT,
  sourceUrl,
  shortName: 'My genes',
});
row('dataset/revisionHistory', async (t) => {
  const { revisionHistory, created } = await shown(first);
  t.match(revisionHistory, {
    originalId: first,
    revisions: [
      {
        action: 'create',
        timestamp: created,
        revisionId: first,
        revisionNote: /^.{10,4096}$/,
        fileListUrl: new RegExp(`^http://127\\.0\\.0\\.1:\\d+/datasets/${first}/files$`),
      },
    ],
  });
});
row('dataset/relatedDatasets', async (t) => {
  t.match((await shown(first)).relatedDatasets, [
    {
      datasetId: second,
      type: TYPE,
      relatedBy: { relationType: 'project-name', identifier: 'The project', type: 'project-name' },
    },
  ]);
});

const files = (id: string, headers = {}): Promise<Record<string, unknown>> =>
  bodyOf(owner.get(`/datasets/${id}/files`, headers));
const TWO_FILES = [
  { fileName: 'genes.txt', fileSize: 14, sha256: hash('sha256', 'PF3D7_0100100\n') },
  { fileName: 'more.txt', fileSize: 14, sha256: hash('sha256', 'PF3D7_0100200\n') },
];
for (const kind of ['upload', 'install'] as const)
  row(`files/${kind}`, async (t) => {
    const archive = await owner.get(`/datasets/${first}/files/${kind}`);
    t.same((await files(first))[kind], { zipSize: archive.bytes.length, contents: TWO_FILES });
  });
row('files/documents', async (t) => {
  t.same((await files(first)).documents, [{ fileName: 'notes.pdf', fileSize: 6 }]);
});
for (const id of ['files/datasetProperties', 'versions/file listing key'] as const)
  row(id, async (t) => {
    const [current, older] = [await files(table), await files(table, OLD)];
    t.same(current.datasetProperties, [{ fileName: 'p.tsv', fileSize: 4 }]);
    t.same(older.variableProperties, current.datasetProperties);
    t.notOk('variableProperties' in current || 'datasetProperties' in older);
  });

const offered = async (query = ''): Promise<readonly Record<string, unknown>[]> =>
  owned(friend.get(`/users/self/share-offers${query}`));
fieldRows('offer', async () => (await offered())[0] ?? {}, {
  datasetId: table,
  owner: OWNER_VIEW,
  type: { name: 'tables', version: '1.0', category: 'The tables' },
  installTargets: [TARGETS.second],
});
const answered = async (t: Test): Promise<void> => {
  const states = async (query: string) =>
    (await offered(query)).map(({ datasetId, shareStatus }) => [datasetId, shareStatus]);
  const [open, accepted] = [
    [table, 'open'],
    [first, 'accepted'],
  ];
  for (const query of ['', '?status=open', '?status=OPEN']) t.same(await states(query), [open], query);
  t.same(await states('?status=accepted'), [accepted]);
  t.same(await states('?status=rejected'), []);
  t.same(await states('?status=all'), [open, accepted]);
};
row('offer/shareStatus', async (t) => {
  await answered(t);
  await friend.send('PUT', `/datasets/${table}/shares/${FRIEND}/receipt`, { action: 'reject' });
  t.match(await offered('?status=rejected'), [{ datasetId: table, shareStatus: 'rejected' }]);
  await owner.send('PUT', `/datasets/${table}/shares/${STRANGER}/offer`, { action: 'grant' });
});
row('endpoints/GET /users/self/share-offers', async (t) => {
  const { status, body } = await stranger.get('/users/self/share-offers');
  t.match([status, body], [200, [{ datasetId: table, shareStatus: 'open' }]]);
});

row('endpoints/GET /datasets', async (t) => {
  const names = async (query: string, who = owner) =>
    (await owned(who.get(`/datasets${query}`))).map(({ datasetId }) => datasetId);
  t.same(await names(''), [table, second, first], 'newest first');
  t.same(await names('?ownership=any', friend), [first]);
  t.same(await names('?ownership=owned', friend), []);
  t.same(await names('?ownership=shared', friend), [first]);
  t.same(await names('?ownership=owned'), [table, second, first]);
  const [newest, oldest] = await owned(owner.get(`/datasets?install_target=${TARGETS.second}`));
  t.same([newest?.datasetId, oldest?.datasetId], [table, first]);
  t.same(oldest?.status, STATUS(TARGETS.second), 'the status of that project alone');
});
row('endpoints/POST /datasets', async (t) => {
  const { status, headers, body } = await owner.form([part(details()), GENES]);
  const { datasetId } = body as { datasetId: string };
  t.equal(status, 202);
  t.match(headers.get('location'), new RegExp(`^http://127\\.0\\.0\\.1:\\d+/datasets/${datasetId}$`));
  t.same(body, { datasetId });
});
row('endpoints/GET /datasets/{vdi-id}', async (t) => {
  const { status, headers } = await owner.get(`/datasets/${first}`);
  t.equal(status, 200);
  t.equal((await owner.get(`/datasets/${first}`, { 'if-none-match': headers.get('etag') ?? '' })).status, 304);
});

row('versions/study information', async (t) => {
  const [current, older] = [await shown(first), await shown(first, OLD)];
  t.same([current.datasetCharacteristics, older.studyCharacteristics], [STUDY, STUDY]);
  t.notOk('studyCharacteristics' in current || 'datasetCharacteristics' in older);
  const id = idOf(await owner.form([part(details({ studyCharacteristics: STUDY })), GENES], '/datasets', 'POST', OLD));
  t.same((await shown(id)).datasetCharacteristics, STUDY, 'given in the older spelling');
});
row('versions/new metadata', async (t) => {
  const [current, older] = [await shown(first), await shown(first, OLD)];
  t.match(current, { daysForApproval: 14, dataDisclaimer: 'As is', datasetSources: SOURCES });
  t.same(
    ['daysForApproval', 'dataDisclaimer', 'datasetSources'].filter((field) => field in older),
    [],
  );
});
row('versions/sourceUrl', async (t) => {
  t.same([(await shown(second)).sourceUrl, (await shown(second, OLD)).sourceUrl], [sourceUrl, sourceUrl]);
});

const plugins = async (query = ''): Promise<readonly Record<string, unknown>[]> => owned(owner.get(`/plugins${query}`));
row('endpoints/GET /plugins', async (t) => {
  const names = async (query: string) => (await plugins(query)).map(({ pluginName }) => pluginName);
  t.same(await names(''), ['genes', 'tables', 'vectors']);
  t.same(await names(`?install-target=${TARGETS.other}`), ['genes', 'tables']);
  t.equal((await guest.get('/plugins')).status, 200);
});
row('plugin/pluginName', async (t) => {
  t.match(await plugins(), [{ pluginName: 'genes' }, { pluginName: 'tables' }, { pluginName: 'vectors' }]);
});
row('plugin/dataTypes', async (t) => {
  const [genes, tables] = (await plugins()) as readonly { dataTypes: readonly object[] }[];
  t.same(genes?.dataTypes[0], {
    ...TYPE,
    maxFileSize: 10_000,
    usesDataProperties: false,
    allowedFileExtensions: ['.txt', '.fifo'],
  });
  t.match(tables?.dataTypes, [{ name: 'tables', usesDataProperties: true, allowedFileExtensions: [] }]);
});
row('plugin/installTargets', async (t) => {
  t.same(
    (await plugins()).map(({ installTargets }) => installTargets),
    [undefined, undefined, [TARGETS.vector]],
  );
});

row('ours/GET /datasets/community', async (t) => {
  const id = idOf(await owner.form([part(details({ visibility: 'public' })), GENES]));
  t.match(await owned(guest.get('/datasets/community')), [{ datasetId: id, visibility: 'public', shares: [] }]);
});
row('ours/lists', async (t) => {
  const path = '/datasets?ownership=owned&updatedSince=2026-01-01&sort=name&limit=1';
  const first = await owner.get(`${path}&total=true`);
  const link = /^<([^>]+)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  const { search, searchParams } = new URL(link);
  const next = await owner.get(`/datasets${search}`);
  t.same([first.status, next.status], [200, 200]);
  t.not(next.text, first.text);
  t.ok(Number(first.headers.get('x-total-count')) > 1);
  t.equal(next.headers.get('x-total-count'), null);
  t.equal((await owner.get(`/datasets?limit=1&cursor=${searchParams.get('cursor')}`)).status, 400);
  const found = await owner.get('/datasets?q=genes+-nothing&name=genes&type=genelist@1.0&status=installed&order=asc');
  t.equal(found.status, 200);
});
row('ours/GET /users/self/meta', async (t) => {
  t.match((await friend.get('/users/self/meta')).body, { quota: { limit: 10_737_418_240, usage: 0 } });
});
row('ours/GET /service-meta', async (t) => {
  const { configuration } = (await at.nobody.get('/service-meta')).body as {
    readonly configuration: { readonly installTargets: readonly object[] };
  };
  t.match(configuration.installTargets[0], { id: TARGETS.other, name: TARGETS.other, requiredFields: undefined });
  t.match(
    configuration.installTargets.find((target) => 'id' in target && target.id === TARGETS.genomics),
    { name: 'Site of genomics', requiredFields: ['experimentalOrganism'] },
  );
});
row('ours/console', async (t) => {
  const { nobody, guest } = at;
  const page = await nobody.get('/');
  t.equal(page.status, 200);
  const script = /src="(\/console\/files\/[^"]+)"/.exec(page.text)?.[1] ?? '';
  const file = await nobody.get(script);
  t.equal(file.status, 200);
  t.equal((await nobody.get(script, { 'if-none-match': file.headers.get('etag') ?? '' })).status, 304);
  t.match((await nobody.get('/console/settings.json')).body, {
    services: { access: /^http:/ },
    signIn: { code: true },
  });
  t.match((await guest.get('/console/self')).body, { userId: Number(GUEST), role: 'guest' });
  const code = /^console: open \S+#\/sign-in\?code=(\S+)/m.exec(at.printed())?.[1];
  const signedIn = await nobody.send('POST', '/console/sign-in', { code });
  t.equal(signedIn.status, 200);
  const { token } = signedIn.body as { token: string };
  const operator = at.as({ authorization: `Bearer ${token}` });
  t.match((await operator.get('/console/self')).body, { role: 'operator' });
  t.equal((await nobody.send('POST', '/console/sign-in', { code })).status, 403);
  t.equal((await operator.call('POST', '/console/sign-out-everywhere')).status, 204);
  t.equal((await operator.get('/console/self')).status, 401);
});
row('ours/PUT offer and receipt', async (t) => {
  t.equal((await owner.send('PUT', `/datasets/${second}/shares/77/offer`, { action: 'grant' })).status, 204);
  t.equal((await at.admin.send('PUT', `/datasets/${second}/shares/77/receipt`, { action: 'accept' })).status, 204);
});
row('ours/PATCH /datasets/{id}', async (t) => {
  t.equal((await owner.send('PATCH', `/datasets/${second}`, { name: { value: 'Renamed' } })).status, 204);
  t.equal((await shown(second)).name, 'Renamed');
});

const NOTE = 'A second measurement';
const revise = (id: string, body: object, ...parts: readonly Part[]): Promise<Answer> =>
  owner.form([part(body), ...(parts.length > 0 ? parts : [GENES])], `/datasets/${id}`, 'PUT');
const revision = { origin: 'direct-upload', revisionNote: NOTE };
const faultKeys = async (answer: Promise<Answer>): Promise<readonly string[]> => {
  const { status, body } = await answer;
  return status === 422 ? Object.keys((body as { errors: { byKey: object } }).errors.byKey) : [String(status)];
};
for (const [field, low, high] of [
  ['origin', 3, 256],
  ['revisionNote', 10, 4096],
] as const)
  row(`revision/${field}`, async (t) => {
    const { [field]: _absent, ...rest } = revision;
    t.same(await faultKeys(revise(second, rest)), [field], 'required');
    for (const length of [low - 1, high + 1])
      t.same(await faultKeys(revise(second, { ...rest, [field]: 'x'.repeat(length) })), [field], `${length}`);
    // Nothing is created: there is no file.
    for (const length of [low, high])
      t.same(await faultKeys(revise(second, { ...rest, [field]: 'x'.repeat(length) }, DOCUMENT)), ['400'], `${length}`);
  });
row('revision/url', async (t) => {
  t.equal((await revise(second, revision, GENES, ['url', sourceUrl])).status, 400);
});

const WRAPPED = {
  externalIdentifiers: {
    dois: { value: [{ doi: '10.1/abc' }] },
    hyperlinks: { value: [{ url: 'https://example.org/' }] },
    bioprojectIds: { value: [{ id: 'PRJNA1' }] },
  },
  funding: { value: [{ agency: 'Agency', awardNumber: '123' }] },
  shortAttribution: { value: 'Ada L.' },
  daysForApproval: { value: 7 },
  dataDisclaimer: { value: 'None' },
  datasetSources: { value: [{ url: 'https://data.example/', version: '1' }] },
};
let revised = '';
row('endpoints/revision', async (t) => {
  await ended(dir, first);
  const answer = await revise(first, { ...revision, ...WRAPPED }, ['url', sourceUrl], ['docFile', 'x', 'new.pdf']);
  revised = idOf(answer);
  t.match(answer.headers.get('location'), new RegExp(`/datasets/${revised}$`));
  await ended(dir, revised);
  t.same((await shown(revised)).status, STATUS(TARGETS.other, TARGETS.second));
});
row('revision/wrappers', async (t) => {
  const { externalIdentifiers, ...plain } = WRAPPED;
  const unwrapped = (fields: object): object =>
    Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]));
  t.match(await shown(revised), { ...unwrapped(plain), externalIdentifiers: unwrapped(externalIdentifiers) });
});
row('revision/docFile', async (t) => {
  t.same((await files(revised)).documents, [{ fileName: 'new.pdf', fileSize: 1 }]);
});
row('listing/originalId', async (t) => {
  t.equal((await listed(revised)).originalId, first);
});
row('ours/301', async (t) => {
  const { status, headers } = await owner.get(`/datasets/${first}`);
  t.equal(status, 301);
  t.match(headers.get('location'), new RegExp(`/datasets/${revised}$`));
});
row('revision/dataFile', async (t) => {
  const id = idOf(await revise(revised, revision, ['dataFile', 'X1\n', 'x.txt']));
  await ended(dir, id);
  t.match((await files(id)).upload, { contents: [{ fileName: 'x.txt', fileSize: 3 }] });
  t.match((await shown(id)).revisionHistory, {
    originalId: first,
    revisions: [{ action: 'create' }, { action: 'revise' }, { action: 'revise', revisionId: id, revisionNote: NOTE }],
  });
});

row('endpoints/DELETE /datasets/{vdi-id}', async (t) => {
  t.equal((await owner.send('DELETE', `/datasets/${table}`)).status, 204);
  t.equal((await owner.get(`/datasets/${table}`)).status, 410);
  t.match((await at.admin.get(`/admin/reports/datasets/${table}`)).body, { isDeleted: true });
});
row('ours/POST /datasets/{id}/undelete', async (t) => {
  await ended(dir, table);
  t.equal((await owner.send('POST', `/datasets/${table}/undelete`)).status, 204);
  t.equal((await owner.get(`/datasets/${table}`)).status, 200);
});
row('lifecycle/delete', async (t) => {
  const id = idOf(await owner.form([part(details({ visibility: 'public' })), GENES]));
  await ended(dir, id);
  t.equal((await friend.send('DELETE', `/datasets/${id}`)).status, 403);
  t.equal((await owner.send('DELETE', `/datasets/${id}`)).status, 204);
  await ended(dir, id);
  t.equal((await owner.send('POST', `/datasets/${id}/undelete`)).status, 204, 'recoverable');
  await ended(dir, id);
  t.same((await shown(id)).status, STATUS(TARGETS.other));
});
row('lifecycle/prune', async (t) => {
  const prune = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await longshore(['prune', '--data', dir, ...args, '--wait']);
    if (code !== 0) throw new Error(stderr);
    return `${(await at.admin.get(`/admin/reports/datasets/${second}`)).status}`;
  };
  await owner.send('DELETE', `/datasets/${second}`);
  await ended(dir, second);
  t.equal(await prune(), '200', 'within the retention window');
  await longshore(['prune', '--data', dir, '--age-cutoff', '0s', '--wait']);
  await ended(dir, second);
  t.equal((await at.admin.get(`/admin/reports/datasets/${second}`)).status, 404);
  t.equal((await owner.get(`/datasets/${second}`)).status, 404);
});

row('ours/events', async (t) => {
  const accepted = idOf(await owner.form([part(details()), GENES]));
  await ended(dir, accepted);
  const path = `/datasets/${accepted}/events`;
  const { events } = (await owner.get(path)).body as { events: { id: number; kind: string }[] };
  t.same(
    events.map(({ kind }) => kind),
    ['accepted', 'import-ended', 'installed'],
  );
  const [first, ...later] = events;
  const after = (await owner.get(`${path}?after=${first?.id}&limit=1`)).body;
  t.match(after, { events: later.slice(0, 1), more: true, missed: false });
  const own = (await owner.get('/events?after=0&limit=1000')).body as { events: { datasetId: string }[] };
  t.equal(own.events.filter(({ datasetId }) => datasetId === accepted).length, 3);
  t.same((await friend.get(path)).status, 404);
  t.same((await friend.get('/events?all=true')).status, 403);
  const until = new AbortController();
  const { body } = await request(`${at.endpoints.installer}${path}`, {
    headers: {
      ...{ authorization: `Bearer ${await at.token(OWNER)}`, accept: 'text/event-stream' },
      'last-event-id': String(first?.id),
    },
    signal: until.signal,
  });
  t.match(await take(framesOf(body), 3), [{ retry: String }, ...later.map(({ id }) => ({ id: `${id}` }))]);
  until.abort();
});

row('ours/resumable uploads', async (t) => {
  const tus = { 'tus-resumable': '1.0.0' };
  const named = { ...tus, 'upload-metadata': `filename ${Buffer.from('genes.txt').toString('base64')}` };
  const created = async (length: number): Promise<string> => {
    const answer = await owner.call('POST', '/uploads', { headers: { ...named, 'upload-length': String(length) } });
    t.equal(answer.status, 201);
    return new URL(answer.headers.get('location') ?? '').pathname;
  };
  const bytes = (offset: number) => ({
    ...{ ...tus, 'upload-offset': String(offset) },
    'content-type': 'application/offset+octet-stream',
  });
  const content = 'PF3D7_0100100\n';
  const path = await created(content.length);
  const begun = await owner.call('PATCH', path, { headers: bytes(0), body: content.slice(0, 5) });
  t.strictSame([begun.status, begun.headers.get('upload-offset')], [204, '5']);
  t.match((await owner.get(path)).body, { offset: 5, length: content.length });
  t.equal((await friend.get(path)).status, 404, 'another user');
  const overridden = (method: string, headers: Record<string, string>, body?: string) =>
    owner.call('POST', path, {
      headers: { ...headers, 'x-http-method-override': method },
      ...(body === undefined ? {} : { body }),
    });
  t.equal((await overridden('HEAD', tus)).status, 200);
  t.equal((await overridden('PATCH', bytes(5), content.slice(5))).status, 204);
  const id = path.split('/').at(-1);
  t.ok(((await owner.get('/uploads')).body as readonly object[]).some((one) => Object.values(one).includes(id)));
  const accepted = await owner.send('POST', '/datasets', { details: details(), uploadIds: [id] });
  t.equal(accepted.status, 202, accepted.text);
  t.equal((await owner.call('DELETE', await created(3), { headers: tus })).status, 204);
});

row('ours/Idempotency-Key', async (t) => {
  const headers = { 'idempotency-key': '"8e03978e-40d5-43e8-bc93-6894a57f9324"' };
  const body = { details: details(), uploadIds: ['0'.repeat(32)] };
  const post = (more: object = {}, key = headers) => owner.send('POST', '/datasets', { ...body, ...more }, key);
  t.equal((await post()).status, 422, 'what was refused leaves the key free');
  const upload = () => owner.form([part(details()), GENES], '/datasets', 'POST', headers);
  const [first, again] = [await upload(), await upload()];
  t.strictSame([first.status, first.headers.get('idempotent-replayed')], [202, null]);
  t.strictSame([again.status, again.text, again.headers.get('idempotent-replayed')], [202, first.text, 'true']);
  t.equal(again.headers.get('location'), first.headers.get('location'));
  t.match(await post(), { status: 422, body: { message: /belongs to another request/ } });
  t.match(await post({}, { 'idempotency-key': 'a b' }), { status: 400, body: { message: /Idempotency-Key is 'a b'/ } });
});
