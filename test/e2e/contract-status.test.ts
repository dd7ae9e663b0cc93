// The contract of the installer on the running program: the status block, each value brought about by an upload that ends so.

import t, { type Test } from 'tap';
import { details, idOf, type Part } from '../contract/client.ts';
import { held } from '../contract/held.ts';
import { ended, imported } from '../contract/watch.ts';
import { world } from '../contract/world.ts';
import { zipOf } from '../fixtures/zip-of.ts';
import { remoteServer } from '../support/remote-server.ts';
import { queryTarget } from '../support/sites.ts';

const once = { workerCount: 1 };
const at = await world(t, {
  lanes: { import: once, install: once, upload: { retry: { attempts: 2, base: '10ms', max: '20ms' } } },
});
const { dir, owner, row } = at;

interface Status {
  readonly upload: { readonly status: string; readonly message?: string };
  readonly import: { readonly status: string; readonly messages?: readonly string[] };
  readonly install: readonly object[];
}
const statusOf = async (id: string): Promise<Status> =>
  ((await owner.get(`/datasets/${id}`, { 'api-version': '1.8.0' })).body as { status: Status }).status;
/** As a client sees it that names no version. */
const unnamed = async (id: string): Promise<Status> =>
  ((await owner.get(`/datasets/${id}`)).body as { status: Status }).status;
const end = async (id: string): Promise<Status> => {
  await ended(dir, id);
  return statusOf(id);
};
const upload = (file: string, content?: string | Buffer, more: object = {}): Promise<string> =>
  owner.upload(details(more), file, content);
/** The metadata are installed after the data, if these are. */
const installs = (data: { readonly status: string; readonly messages?: readonly string[] }): readonly object[] => [
  { installTarget: 'AlphaDB', meta: { status: data.status === 'complete' ? 'complete' : 'queued' }, data },
];

/** The first request is the front end's, which tries whether anything is there; the second is the lane's. */
let requests = 0;
const fetched = Promise.withResolvers<void>();
const go = Promise.withResolvers<void>();
const remote = await remoteServer(t, async (request, response) => {
  requests++;
  response.writeHead(request.url?.startsWith('/failing') && requests > 1 ? 503 : 200);
  if (request.url?.startsWith('/slow') && requests > 1) {
    fetched.resolve();
    await go.promise;
  }
  response.end('A1\n');
});
const fromUrl = async (path: string): Promise<string> => {
  requests = 0;
  const parts: readonly Part[] = [
    ['details', JSON.stringify(details())],
    ['url', remote.url(path).href],
  ];
  return idOf(await owner.form(parts));
};

const complete = await upload('genes.txt');
const rejected = await upload('empty.zip', await zipOf([]));
const invalid = await upload('invalid-import.txt');
const brokenImport = await upload('broken-import.txt');
const invalidInstall = await upload('invalid-install.txt');
const brokenInstall = await upload('broken-install.txt');
const dependency = { resourceIdentifier: 'missing', resourceDisplayName: 'missing', resourceVersion: '1' };
const missing = await upload('genes.txt', undefined, { dependencies: [dependency] });

const uploadRows = async (t: Test): Promise<void> => {
  const { upload } = await end(rejected);
  t.equal(upload.status, 'rejected');
  t.type(upload.message, 'string');
};
row('status/upload success', async (t) => {
  t.same((await end(complete)).upload, { status: 'success' });
});
row('status/upload rejected', uploadRows);
row('status/upload.message', uploadRows);
row('status/upload running', async (t) => {
  const id = await fromUrl('/slow/genes.txt');
  await fetched.promise;
  t.same(await statusOf(id), { upload: { status: 'running' }, import: { status: 'queued' }, install: [] });
  go.resolve();
  t.equal((await end(id)).upload.status, 'success');
});
row('status/upload failed', async (t) => {
  const { upload } = await end(await fromUrl('/failing/genes.txt'));
  t.equal(upload.status, 'failed', upload.message ?? '');
});
row('status/upload.status', async (t) => {
  t.same([(await statusOf(complete)).upload.status, (await statusOf(rejected)).upload.status], ['success', 'rejected']);
});

for (const id of ['status/import in-progress', 'status/import queued'] as const)
  row(id, async (t) => {
    const pipe = held(dir, id.replaceAll('/', '-'));
    const first = await upload('held-import.fifo', pipe.content);
    await pipe.reached();
    const second = await upload('genes.txt');
    t.equal((await statusOf(first)).import.status, 'in-progress');
    t.equal((await statusOf(second)).import.status, 'queued', 'the one worker is taken');
    await pipe.release();
    t.equal((await end(first)).import.status, 'complete');
    t.equal((await end(second)).import.status, 'complete');
  });
row('status/import complete', async (t) => {
  t.same((await end(complete)).import, { status: 'complete' });
});
for (const id of ['status/import invalid', 'status/import.messages'] as const)
  row(id, async (t) => {
    t.same(await end(invalid), {
      upload: { status: 'success' },
      import: { status: 'invalid', messages: ['no such gene'] },
      install: [],
    });
  });
row('status/import failed', async (t) => {
  t.equal((await end(brokenImport)).import.status, 'failed');
});
row('status/import.status', async (t) => {
  const all = await Promise.all([complete, invalid, brokenImport].map(statusOf));
  t.same(
    all.map((status) => status.import.status),
    ['complete', 'invalid', 'failed'],
  );
});

for (const id of ['status/install running', 'status/install queued'] as const)
  row(id, async (t) => {
    const pipe = held(dir, id.replaceAll('/', '-'));
    const first = await upload('held-install.fifo', pipe.content);
    await pipe.reached();
    const second = await upload('genes.txt');
    await imported(dir, second);
    t.match((await statusOf(first)).install, installs({ status: 'running' }));
    t.same((await statusOf(second)).install, installs({ status: 'queued' }));
    const running = { status: 'running' };
    t.match((await unnamed(first)).install, [{ installTarget: 'AlphaDB', meta: running, data: running }]);
    t.same((await unnamed(second)).install, [], 'who names no version does not know the word');
    await pipe.release();
    for (const one of [first, second]) t.same((await end(one)).install, installs({ status: 'complete' }));
  });
for (const id of ['status/install complete', 'status/install[]'] as const)
  row(id, async (t) => {
    t.same((await end(complete)).install, installs({ status: 'complete' }));
  });
row('status/install failed-validation', async (t) => {
  const data = { status: 'failed-validation', messages: ['rows do not fit'] };
  t.same((await end(invalidInstall)).install, installs(data));
});
row('status/install failed-installation', async (t) => {
  t.match((await end(brokenInstall)).install, installs({ status: 'failed-installation' }));
});
row('status/install missing-dependency', async (t) => {
  const data = { status: 'missing-dependency', messages: ['missing 1 is not installed'] };
  t.same((await end(missing)).install, installs(data));
});
row('status/install ready-for-reinstall', async (t) => {
  await end(brokenInstall);
  // As an operator marks it, or a site of its own accord.
  await queryTarget(
    dir,
    'AlphaDB',
    'controlDb',
    `update dataset_install_message set status = 'ready-for-reinstall', message = null
     where dataset_id = $1 and install_type = 'data'`,
    [brokenInstall],
  );
  t.match((await statusOf(brokenInstall)).install, installs({ status: 'ready-for-reinstall' }));
});

for (const id of ['files/zipSize before import', 'lifecycle/files before import'] as const)
  row(id, async (t) => {
    const pipe = held(dir, id.replaceAll('/', '-'));
    const dataset = await upload('held-import.fifo', pipe.content);
    await pipe.reached();
    const { body } = await owner.get(`/datasets/${dataset}/files`);
    t.match(body, { upload: { zipSize: -1 } });
    t.notOk('install' in (body as object));
    t.equal((await statusOf(dataset)).import.status, 'in-progress', 'unchanged');
    await pipe.release();
    await ended(dir, dataset);
    const after = (await owner.get(`/datasets/${dataset}/files`)).body as { upload: { zipSize: number } };
    t.ok(after.upload.zipSize > 0);
  });
