// clients/typescript against the running program.

import t from 'tap';
import {
  allDatasets,
  datasetEvents,
  downloadFiles,
  installerClient,
  LongshoreError,
  type NewDataset,
  outcomeOf,
  untilInstalled,
  uploadDataset,
} from '../../clients/typescript/src/index.ts';
import { geneList } from '../fixtures/datasets.ts';
import { detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const OWNER = '5';
let tokens = 0;
const installer = installerClient({
  url: `${app.endpoints.installer}/`,
  token: async () => {
    tokens++;
    return app.token(OWNER);
  },
});
const details = detailsOf('genelist') as unknown as NewDataset;

t.test('uploads a dataset, waits until it is installed, and reads it back', async (t) => {
  const upload = { details, files: [new File([geneList(10)], 'genes.txt')], idempotencyKey: crypto.randomUUID() };
  const id = await uploadDataset(installer, upload);
  t.equal(await uploadDataset(installer, upload), id, 'repeated with its key, it is one');
  const dataset = await untilInstalled(installer, id);
  t.match(dataset, { datasetId: id, name: details.name, owner: { userId: Number(OWNER) } });
  t.equal(outcomeOf(dataset.status), 'installed');
  const { data: listed } = await installer.GET('/datasets');
  t.strictSame(
    listed?.map(({ datasetId }) => datasetId),
    [id],
  );
  t.ok(tokens >= 3, 'each call asked for a token');
  const told: string[] = [];
  for await (const { kind, datasetId } of datasetEvents(installer, { after: 0 })) {
    t.equal(datasetId, id);
    told.push(kind);
    if (kind === 'installed') break;
  }
  t.strictSame(told, ['accepted', 'import-ended', 'installed']);
});

t.test('downloads are verified, and uploads arrive as they were sent', async (t) => {
  const token = () => app.token('812');
  let change: ((bytes: Uint8Array) => void) | undefined;
  const faulty = installerClient({
    url: app.endpoints.installer,
    token,
    fetch: async (request) => {
      const sent = request as Request;
      const body = sent.method === 'POST' ? new Uint8Array(await sent.arrayBuffer()) : undefined;
      if (body) change?.(body);
      const response = await fetch(sent.url, { method: sent.method, headers: sent.headers, ...(body && { body }) });
      if (body) return response;
      const bytes = new Uint8Array(await response.arrayBuffer());
      change?.(bytes);
      return new Response(bytes, { status: response.status, headers: response.headers });
    },
  });
  const upload = () => uploadDataset(faulty, { details, files: [new File([geneList(10)], 'genes.txt')] });
  const id = await upload();
  await untilInstalled(installerClient({ url: app.endpoints.installer, token }), id);
  for (const kind of ['upload', 'install'] as const) t.ok((await downloadFiles(faulty, id, kind)).verified);
  change = (bytes) => bytes.set([(bytes.at(-100) ?? 0) ^ 1], bytes.length - 100);
  await t.rejects(downloadFiles(faulty, id, 'upload'), {
    message: /the service says sha-256=:.*, but what arrived has/,
  });
  await t.rejects(upload(), { code: 400, message: /^header Content-Digest says/ });
});

t.test('data that the plugin refuses end the wait, with what it says', async (t) => {
  const id = await uploadDataset(installer, { details, files: [new File(['no gene\n\0'], 'genes.txt')] });
  await t.rejects(untilInstalled(installer, id), { message: /^dataset \w+ refused: \S/ });
});

t.test('iterates over all pages of a list, a search or the community', async (t) => {
  const idsOf = async (query: Parameters<typeof allDatasets>[1]) =>
    (await Array.fromAsync(allDatasets(installer, query))).map(({ datasetId }) => datasetId);
  const [refused = '', installed = ''] = await idsOf({ limit: 1 });
  t.ok(refused !== installed && installed !== '');
  t.strictSame(await idsOf({}), [refused, installed]);
  t.strictSame(await idsOf({ limit: 1, sort: 'created', order: 'asc' }), [installed, refused]);
  t.strictSame(await idsOf({ limit: 1, q: 'genelist -nothing', status: 'installed' }), [installed]);
  t.strictSame(await idsOf({ path: '/datasets/community' }), []);
  await t.rejects(idsOf({ q: '-' }), { code: 400 });
});

t.test('a refusal is an exception with the words of the service', async (t) => {
  const call = installer.GET('/datasets/{id}', { params: { path: { id: 'NoSuchDataset000' as never } } });
  const error = (await call.then(t.fail, (reason: unknown) => reason)) as LongshoreError;
  t.ok(error instanceof LongshoreError);
  t.match(error, { code: 404, problem: { status: 'not-found' }, message: /NoSuchDataset000/, requestId: /^[\w-]+$/ });
  const nobody = installerClient({ url: app.endpoints.installer });
  await t.rejects(nobody.GET('/datasets'), { code: 401 });
  const faulty = uploadDataset(installer, { details: { ...details, name: 'x' }, files: [new File(['a'], 'a.txt')] });
  await t.rejects(faulty, { code: 422, problem: { status: 'invalid-input' } });
});

t.test('what cannot be followed is refused; a wait and a stream can be given up', async (t) => {
  await t.rejects(datasetEvents(installer, { datasetId: 'NoSuchDataset000' }).next(), { code: 404 });
  const until = new AbortController();
  const next = datasetEvents(installer, { signal: until.signal }).next();
  until.abort(new Error('enough'));
  await t.rejects(next, { message: 'enough' });
  const waiting = untilInstalled(installer, 'NoSuchDataset000', AbortSignal.abort(new Error('enough')));
  await t.rejects(waiting, { message: 'enough' });
});
