// Clients as strict as those that are deployed, on the running program, while datasets go through every state they can be
// in: not one answer is refused. Each front end is published under a path of its own.

import t from 'tap';
import { FormData, fetch } from 'undici';
import { StrictClient } from '../compatibility/strict-client.ts';
import { Watcher } from '../compatibility/watcher.ts';
import { details } from '../contract/client.ts';
import { held } from '../contract/held.ts';
import { ended, imported } from '../contract/watch.ts';
import { FRIEND, MAX_UPLOAD_BYTES, OWNER, STRANGER, world } from '../contract/world.ts';
import { remoteServer } from '../support/remote-server.ts';

const PATHS = { installer: '/dataset-service', access: '/study-access' } as const;
const PREFIX = 'EDAUD_';
const once = { workerCount: 1 };
const at = await world(t, {
  lanes: { import: once, install: once, upload: { retry: { attempts: 2, base: '10ms', max: '20ms' } } },
  http: { basePath: PATHS },
  access: { userStudyIdPrefix: PREFIX },
});
const { dir } = at;
const installer = async (user: string): Promise<StrictClient> =>
  new StrictClient(at.endpoints.installer + PATHS.installer, await at.token(user));
const access = async (user: string): Promise<StrictClient> =>
  new StrictClient(at.endpoints.access + PATHS.access, await at.token(user));

const [owner, friend, stranger] = [await installer(OWNER), await installer(FRIEND), await installer(STRANGER)];
const [studies, strangerStudies] = [await access(OWNER), await access(STRANGER)];
const clients = [owner, friend, stranger, studies, strangerStudies];

/** As a deployed form sends it: what is empty is left out. */
function form(more: object, file: string, content: string | Buffer | URL = 'PF3D7_0100100\n'): FormData {
  const body = new FormData();
  const { dependencies: _empty, ...rest } = details() as Record<string, unknown>;
  body.append('details', JSON.stringify({ ...rest, projectName: 'One project', ...more }));
  if (content instanceof URL) body.append('url', content.href);
  else body.append('dataFile', new Blob([Uint8Array.from(Buffer.from(content))]), file);
  return body;
}

const watcher = new Watcher(owner, [
  { client: friend, look: () => friend.get('datasets', '/datasets') },
  { client: friend, look: () => friend.get('offers', '/users/self/share-offers?status=all') },
  { client: stranger, look: () => stranger.get('community', '/datasets/community') },
  { client: stranger, look: () => stranger.get('datasets', '/datasets') },
  { client: studies, look: () => studies.get('permissions', '/permissions') },
  { client: studies, look: () => studies.get('history', '/history?limit=100&offset=0') },
  { client: strangerStudies, look: () => strangerStudies.get('permissions', '/permissions') },
]);

async function upload(more: object, file: string, content?: string | Buffer | URL): Promise<string> {
  const { status, body, location } = await owner.send('accepted', 'POST', '/datasets', form(more, file, content));
  const id = (body as { datasetId: string }).datasetId;
  t.equal(status, 202);
  t.equal(location, `${at.endpoints.installer}${PATHS.installer}/datasets/${id}`, 'it leads through the proxy');
  watcher.add(id);
  return id;
}
const put = (path: string, body: object, who = at.owner) => who.send('PUT', path, body);

const go = Promise.withResolvers<void>();
const fetching = Promise.withResolvers<void>();
let requests = 0;
const remote = await remoteServer(t, async (_request, response) => {
  response.writeHead(200);
  if (++requests > 1) {
    fetching.resolve();
    await go.promise;
  }
  response.end('A1\n');
});

t.test('a form that leaves out what is empty, or sends null for it, is taken', async (t) => {
  const id = await upload({ dependencies: null, contacts: null, publications: null, funding: [] }, 'genes.txt');
  await ended(dir, id);
  const { body } = await owner.get('dataset', `/datasets/${id}`);
  t.strictSame((body as { dependencies: unknown }).dependencies, []);
});

t.test('a dataset that is uploaded, imported, waits for its install and is installed', async (t) => {
  const slow = await upload({}, 'genes.txt', remote.url('/genes.txt'));
  await fetching.promise;
  const importing = held(dir, 'importing');
  const first = await upload({}, 'held-import.fifo', importing.content);
  await importing.reached();
  const waiting = await upload({}, 'genes.txt');
  await watcher.looked(3);
  go.resolve();
  await importing.release();
  for (const id of [slow, first, waiting]) await ended(dir, id);
  const installing = held(dir, 'installing');
  const second = await upload({ visibility: 'public' }, 'held-install.fifo', installing.content);
  await installing.reached();
  const queued = await upload({ visibility: 'public' }, 'genes.txt');
  await imported(dir, queued);
  await watcher.looked(3);
  await installing.release();
  for (const id of [second, queued]) await ended(dir, id);
  await watcher.looked(3);
  for (const state of [
    ...['upload running', 'upload success', 'import queued', 'import in-progress', 'import complete', 'public'],
    ...['install waits', 'install running/running', 'install complete/complete', 'private'],
  ])
    t.ok(watcher.seen.has(state), `${state}: ${[...watcher.seen].join(', ')}`);
});

t.test('datasets that are rejected, invalid or fail, of every visibility', async (t) => {
  const all = [
    await upload({ visibility: 'protected' }, 'invalid-import.txt'),
    await upload({ visibility: 'controlled' }, 'broken-import.txt'),
    await upload({ visibility: 'protected' }, 'invalid-install.txt'),
    await upload({ visibility: 'controlled' }, 'broken-install.txt'),
    await upload({}, 'genes.zip', 'no archive'),
  ];
  for (const id of all) await ended(dir, id);
  await watcher.looked(3);
  for (const state of ['import invalid', 'import failed', 'upload rejected', 'protected', 'controlled'])
    t.ok(watcher.seen.has(state), state);
  for (const state of ['failed-validation', 'failed-installation'])
    t.ok(watcher.seen.has(`install ${state}/${state}`), `${state}: ${[...watcher.seen].join(', ')}`);
});

t.test('an upload that is too large is refused in words that the client shows', async (t) => {
  const large = form({}, 'genes.txt', Buffer.alloc(MAX_UPLOAD_BYTES + 1, 'A'));
  const { status, body } = await owner.send('accepted', 'POST', '/datasets', large);
  t.match([status, body], [400, { status: 'bad-request', message: new RegExp(`may have ${MAX_UPLOAD_BYTES}$`) }]);
});

t.test('a dataset that is shared, revised and deleted, and its study', async (t) => {
  const id = await upload({}, 'genes.txt');
  await ended(dir, id);
  t.equal((await put(`/datasets/${id}/shares/${FRIEND}/offer`, { action: 'grant' })).status, 204);
  await watcher.looked(2);
  t.equal((await put(`/datasets/${id}/shares/${FRIEND}/receipt`, { action: 'accept' }, at.friend)).status, 204);
  await ended(dir, id);
  for (const asked of [`${PREFIX}${id}`, id]) {
    const { status, body } = await studies.get('study', `/permissions/${asked}`);
    t.match([status, body], [200, { studyId: `${PREFIX}${id}`, isUserStudy: true }]);
  }
  const { body } = await studies.get('permissions', '/permissions');
  t.match((body as { perDataset: object }).perDataset, { [`${PREFIX}${id}`]: { studyId: `${PREFIX}${id}` } });

  const note = { revisionNote: 'More genes than before', origin: 'direct-upload' };
  const parts = new FormData();
  parts.append('details', JSON.stringify(note));
  parts.append('dataFile', new Blob(['PF3D7_0100200\n']), 'genes.txt');
  const revised = await owner.send('accepted', 'PUT', `/datasets/${id}`, parts);
  const newer = (revised.body as { datasetId: string }).datasetId;
  const where = (of: string): string => `${at.endpoints.installer}${PATHS.installer}/datasets/${of}`;
  t.match([revised.status, revised.location], [202, where(newer)]);
  watcher.add(newer);
  await ended(dir, newer);
  await ended(dir, id);
  const moved = await owner.get('dataset', `/datasets/${id}`);
  t.strictSame([moved.status, moved.location], [301, where(newer)], 'the old one leads to the new one');
  const history = (await owner.get('dataset', `/datasets/${newer}`)).body as {
    revisionHistory: { revisions: { fileListUrl: string }[] };
  };
  t.strictSame(
    history.revisionHistory.revisions.map(({ fileListUrl }) => fileListUrl),
    [id, newer].map((of) => `${where(of)}/files`),
  );

  t.equal((await at.owner.send('DELETE', `/datasets/${newer}`)).status, 204);
  let over = false;
  const uninstalled = ended(dir, newer).then(() => {
    over = true;
  });
  let after = 0;
  for (; !over || after === 0; after++) {
    const answers = await Promise.all(
      [owner, friend].flatMap((who) => [id, newer].map((one) => who.get('dataset', `/datasets/${one}`))),
    );
    const seen = answers.filter(({ status }) => status === 200 || status === 301);
    if (seen.length > 0) t.fail(`after ${after} rounds a deleted dataset was shown, or led to`);
  }
  await uninstalled;
  const { body: listed } = await owner.get('datasets', '/datasets');
  const ids = (listed as { datasetId: string }[]).map(({ datasetId }) => datasetId);
  t.notOk([id, newer].some((one) => ids.includes(one)));
  await watcher.looked(2);
});

t.test('a request for access that is denied, in the history of a site owner', async (t) => {
  const { access: base, adminToken } = at.endpoints;
  const call = async (method: string, path: string, body: unknown, credentials: Record<string, string>) => {
    const headers = { 'content-type': 'application/json', ...credentials };
    return (await fetch(base + path, { method, headers, body: JSON.stringify(body) })).status;
  };
  const site = { 'auth-key': await at.token('1') };
  t.equal(await call('POST', '/staff', { userId: 1, isOwner: true }, { 'admin-token': adminToken }), 200);
  const why = { purpose: 'P', researchQuestion: 'R', analysisPlan: 'A', disseminationPlan: 'D', priorAuth: 'N' };
  const request = { userId: Number(STRANGER), datasetId: 'SAMPLE_private', ...why };
  t.equal(await call('POST', '/dataset-end-users', request, { 'auth-key': await at.token(STRANGER) }), 200);
  const deny = [
    { op: 'replace', path: '/approvalStatus', value: 'denied' },
    { op: 'replace', path: '/denialReason', value: 'Too vague' },
  ];
  t.equal(await call('PATCH', `/dataset-end-users/${STRANGER}-SAMPLE_private`, deny, site), 204);
  const reader = await access('1');
  clients.push(reader);
  const { body } = await reader.get('history', '/history?limit=100&offset=0');
  const rows = (body as { results: { row: { approvalStatus: string; dateDenied?: string } }[] }).results;
  t.same(
    rows.map(({ row }) => [row.approvalStatus, 'dateDenied' in row]),
    [
      ['DENIED', true],
      ['REQUESTED', false],
    ],
  );
  t.match((await strangerStudies.get('permissions', '/permissions')).body, {
    perDataset: { SAMPLE_private: { accessRequestStatus: 'denied' } },
  });
});

t.test('not one answer was refused', async (t) => {
  await watcher.stop();
  t.ok(watcher.rounds > 20, `${watcher.rounds} rounds`);
  for (const client of clients) t.ok(client.asked > 0);
  t.same(
    clients.flatMap(({ refused }) => [...new Set(refused)]),
    [],
  );
});
