// For every way to keep bytes: what the quota counts is what the store keeps, over a random life of 500 steps on PostgreSQL
// and a directory, with the real routes and lanes. LONGSHORE_SEED repeats one.

import { randomFillSync } from 'node:crypto';
import t from 'tap';
import { storedDatasets } from '../../actors/dataset/stored-dataset.ts';
import { PostgresAccounts } from '../../engine/adapters/datasets/accounts-postgres.ts';
import { PostgresAuditLog } from '../../engine/adapters/datasets/audit-postgres.ts';
import { PostgresDatasetEvents } from '../../engine/adapters/datasets/dataset-events-postgres.ts';
import { PostgresDatasetReports } from '../../engine/adapters/datasets/dataset-reports-postgres.ts';
import { PostgresJobAdmin } from '../../engine/adapters/jobs/job-admin-postgres.ts';
import { PostgresJobCancels } from '../../engine/adapters/jobs/job-cancels-postgres.ts';
import { PostgresJobHistory } from '../../engine/adapters/jobs/job-history-postgres.ts';
import { PostgresPauses } from '../../engine/adapters/jobs/pauses-postgres.ts';
import { PostgresProblems } from '../../engine/adapters/jobs/problems-postgres.ts';
import { PostgresEventMails } from '../../engine/adapters/mail/event-mails-postgres.ts';
import { RemoteHttp } from '../../engine/adapters/remote/remote-http.ts';
import { PostgresResumableUploads } from '../../engine/adapters/uploads/resumable-uploads-postgres.ts';
import { PostgresStoredBytes } from '../../engine/adapters/uploads/stored-bytes-postgres.ts';
import { PostgresWebhooks } from '../../engine/adapters/webhooks/webhooks-postgres.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import { NO_GRANTS } from '../../engine/ports/access-requests.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { MetricsHistory } from '../../engine/runtime/metrics-history.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { eventMetrics } from '../../http/installer/events/event-routes.ts';
import { installerRoutes } from '../../http/installer/routes.ts';
import { EMPTY_LOGS } from '../fakes/empty-logs.ts';
import { FakePrunerControl, FakeReconcilerControl } from '../fakes/fake-daemons.ts';
import { FakeFailedInstalls } from '../fakes/fake-failed-installs.ts';
import { FakeProcessSettings } from '../fakes/fake-process-settings.ts';
import { FakeUploadBytes } from '../fakes/fake-upload-bytes.ts';
import { PRUNER_REPORT, RECONCILER_REPORT } from '../fixtures/daemon-reports.ts';
import { INSTALL_TARGETS, soundDetails } from '../http/installer/installation.ts';
import { detailsPart, type FormPart, form, listen, NO_CHANCES } from '../http/installer/installer-app.ts';
import { revisionPart } from '../http/installer/revisions.ts';
import { callAs } from '../http/numbered-callers.ts';
import { SeededRandom } from '../simulation/random.ts';
import { PLASMO, TOXO } from '../support/dataset-samples.ts';
import { TYPES } from '../support/lane-settings.ts';
import { PostgresSite } from '../support/postgres-site.ts';
import { LOOPBACK, remoteServer } from '../support/remote-server.ts';

t.setTimeout(300_000);

const STEPS = 500;
const QUOTA = 60_000;
/** Of what is counted and never refused: receipts, and why uploads failed. */
const SMALL = 2_000;
const OWNERS = ['4711' as UserId, '4712' as UserId];
const seed = Number(process.env.LONGSHORE_SEED ?? 20_260_304);
const never = new AbortController().signal;
const random = new SeededRandom(seed, 'quota life');

const remote = new RemoteHttp({
  allow: [LOOPBACK],
  ports: [80, 443],
  maxRedirects: 5,
  connectMs: 10_000,
  idleMs: 60_000,
});
t.teardown(() => remote[Symbol.asyncDispose]());
const site = await PostgresSite.open(t, t.testdir(), { quotaBytes: QUOTA, remote });
const server = await remoteServer(t, (request, response) => {
  const bytes = Number(new URL(request.url ?? '', 'http://x').searchParams.get('bytes'));
  response.writeHead(200, random.chance(0.5) ? { 'content-length': bytes } : {}).end(bytesOf(bytes));
});
let url = await serve();

/** As `serve` builds it anew when the cache was lost. */
async function serve(): Promise<string> {
  const { store, uncountedStore, kept, uploads, queries, edits, jobs, db } = site;
  let events = 1_000_000;
  const routes = installerRoutes({
    ...{ store, uncountedStore, storeHold: undefined, kept, uploads, queries, edits, jobs },
    resumable: new PostgresResumableUploads(db, 1),
    uploadBytes: new FakeUploadBytes(uncountedStore),
    onResumable: () => {},
    reports: new PostgresDatasetReports(db),
    jobHistory: new PostgresJobHistory(db),
    pauses: new PostgresPauses(db, { listen: () => () => undefined }),
    cancels: new PostgresJobCancels(db, { id: 1, listen: () => () => undefined }),
    pausable: { lane: [], plugin: [], target: [] },
    history: new MetricsHistory(),
    logs: EMPTY_LOGS,
    failedInstalls: new FakeFailedInstalls(),
    problems: new PostgresProblems(db),
    secondChances: NO_CHANCES,
    processSettings: new FakeProcessSettings(),
    sites: [],
    datasetEvents: new PostgresDatasetEvents(db),
    eventMetrics: eventMetrics(new Metrics()),
    webhooks: new PostgresWebhooks(db, new PostgresDatasetEvents(db)),
    eventMails: new PostgresEventMails(db, new PostgresDatasetEvents(db)),
    accounts: new PostgresAccounts(db),
    grants: NO_GRANTS,
    audit: new PostgresAuditLog(db),
    eventLog: { nextEventId: async () => ++events },
    jobAdmin: new PostgresJobAdmin(db),
    reconciler: new FakeReconcilerControl(RECONCILER_REPORT),
    pruner: new FakePrunerControl(PRUNER_REPORT),
    clock: systemClock,
    log: silentLogger(),
    random: (bytes) => randomFillSync(bytes),
    dataTypes: TYPES,
    remoteFiles: remote,
    settings: {
      maxUploadBytes: 40_000,
      userMaxStorageBytes: QUOTA,
      uploadsPerUser: 8,
      resumablePerUser: 5,
      resumableExpiryMs: () => 86_400_000,
      waitingPerUser: 1_000_000,
      autoAcceptShares: false,
      retentionMs: 30 * 86_400_000,
      eventStreams: { perUser: 1, total: 1 },
      installTargets: INSTALL_TARGETS,
      webhooks: { enabled: false, allowHttp: false, perUser: 1 },
      mailsAreSent: false,
      buildInfo: { name: 'longshore', version: '1.2.3', node: 'v26' },
      reconciler: () => ({ enabled: true, fullRunInterval: '6h', slimRunInterval: '5m', performDeletes: true }),
    },
  });
  return (await listen(t, routes)).url;
}

/** Cannot be packed any smaller. */
function bytesOf(length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.between(0, 255)));
}

interface Known {
  readonly owner: UserId;
  readonly id: DatasetId;
}
const known: Known[] = [];
const tally = new Map<string, number>();

async function call(what: string, ...args: Parameters<typeof callAs>): Promise<unknown> {
  const [user, method, path, ...rest] = args;
  const { status, body, text } = await callAs(user, method, url + path, ...rest);
  const refused = status === 400 && text.includes('storage quota');
  const key = `${what} ${refused ? 'over quota' : status}`;
  tally.set(key, (tally.get(key) ?? 0) + 1);
  if (refused) t.match(text, /storage quota of 60000 bytes, \d+ are used and \d+ are left/);
  return status === 202 ? body : undefined;
}

let step = 0;
const size = () => {
  if (step < FIRST.length) return random.between(1, 500);
  return random.chance(0.15) ? random.between(10_000, 38_000) : random.between(1, 4_000);
};
const file = (): FormPart => ['dataFile', bytesOf(size()), 'genes.txt'];
const details = () => detailsPart({ ...soundDetails(), installTargets: [PLASMO, TOXO], summary: text(2_000) });
const text = (most: number) => 's'.repeat(random.between(1, most));
const body = (bytes: number) => bytesOf(bytes).toString('base64');
const TYPE = { documents: 'application/octet-stream', 'variable-properties': 'text/tab-separated-values' };

async function upload(what: string, owner: UserId, ...parts: readonly FormPart[]): Promise<void> {
  add(owner, await call(what, owner, 'POST', '/datasets', form(details(), ...parts)));
}
function add(owner: UserId, answer: unknown): void {
  const id = (answer as { datasetId: DatasetId } | undefined)?.datasetId;
  if (id) known.push({ owner, id });
}

/** Mostly one of the last: the others are deleted sooner or later. */
const some = () => {
  const last = known.at(-1);
  return step < FIRST.length && last ? last : random.pick(random.chance(0.7) ? known.slice(-4) : known);
};
const withFile: { readonly folder: string; readonly at: Known; readonly name: string }[] = [];
const other = (owner: UserId) => OWNERS.find((one) => one !== owner) as UserId;
const put = async (folder: keyof typeof TYPE, at: Known, name: string) => {
  const path = `/datasets/${at.id}/files/${folder}/${name}`;
  await call(`${folder} put`, at.owner, 'PUT', path, body(size()), { 'content-type': TYPE[folder] });
  withFile.push({ folder, at, name });
};
async function removeFile(): Promise<void> {
  const { folder, at, name } = withFile.pop() ?? { folder: 'documents', at: some(), name: 'a.txt' };
  await call(`${folder} removed`, at.owner, 'DELETE', `/datasets/${at.id}/files/${folder}/${name}`);
}
const share = ({ owner, id }: Known, action: string) =>
  call(`share ${action}`, owner, 'PUT', `/datasets/${id}/shares/${other(owner)}/offer`, { action });

const WAYS: Readonly<Record<string, () => Promise<unknown>>> = {
  upload: () => upload('upload', random.pick(OWNERS), file()),
  withDocuments: () =>
    upload(
      'with documents',
      random.pick(OWNERS),
      ['dataFile', bytesOf(300), 'genes.txt'],
      ['docFile', bytesOf(300), 'notes.pdf'],
      ['dataPropertiesFile', bytesOf(300), 'more.txt'],
    ),
  twoUploads: () =>
    Promise.all([upload('two uploads', '4711' as UserId, file()), upload('two uploads', '4711' as UserId, file())]),
  byUrl: async () => {
    await upload('by URL', random.pick(OWNERS), ['url', server.url(`/genes.txt?bytes=${size()}`).href]);
    // What is reserved for it is not kept yet.
    await site.finish();
  },
  proxy: async () => {
    const owner = random.pick(OWNERS);
    const path = '/admin/rpc/datasets/proxy-upload';
    add(owner, await call('proxy', 'admin', 'POST', path, form(details(), file()), { 'user-id': owner }));
  },
  badUpload: () => upload('rejected later', random.pick(OWNERS), ['dataFile', 'no zip', 'genes.zip']),
  revise: async () => {
    const { owner, id } = some();
    add(owner, await call('revise', owner, 'PUT', `/datasets/${id}`, form(revisionPart(), file())));
  },
  document: () => put('documents', some(), random.pick(['a.txt', 'b.txt'])),
  twoDocuments: async () => {
    const at = some();
    await Promise.all([put('documents', at, 'a.txt'), put('documents', at, random.pick(['a.txt', 'c.txt']))]);
  },
  removeFile,
  property: () => put('variable-properties', some(), 'p.txt'),
  patch: async () => {
    const { owner, id } = some();
    await call('patch', owner, 'PATCH', `/datasets/${id}`, { summary: { value: text(3_900) } });
  },
  grant: () => share(some(), 'grant'),
  revoke: () => share(some(), 'revoke'),
  receipt: async () => {
    const { owner, id } = some();
    const recipient = other(owner);
    await call('receipt', recipient, 'PUT', `/datasets/${id}/shares/${recipient}/receipt`, { action: 'accept' });
  },
  delete: async () => {
    const { owner, id } = some();
    await call('delete', owner, 'DELETE', `/datasets/${id}`);
  },
  undelete: async () => {
    const { owner, id } = some();
    await call('undelete', owner, 'POST', `/datasets/${id}/undelete`);
  },
  prune: async () => {
    await site.finish();
    const rows = await site.db.query<Known & { state: string }>(
      `update dataset set state = case when state = 'deleted' then 'pruning' else state end
       where state in ('deleted', 'superseded') returning owner_id::text as owner, dataset_id as id, state`,
    );
    for (const { owner, id: dataset } of rows)
      await site.enqueue({ lane: 'hardDelete', owner, dataset, source: 'pruner' });
    await site.finish();
    tally.set('pruned', (tally.get('pruned') ?? 0) + rows.length);
  },
  lanes: () => site.finish(),
  crash: async () => {
    // A process that died between its reservation and the store's answer, or after it.
    const { owner, id: dataset } = some();
    const dead = new PostgresStoredBytes(site.db, 2_000_000_000);
    const name = random.pick(['documents/a.txt', 'vdi-meta.json']);
    await dead.reserve({ owner, dataset }, [{ name, bytes: 7_000 }], never);
    tally.set('crash', (tally.get('crash') ?? 0) + (await site.store.sweep(never)));
  },
  rebuild: async () => {
    await site.finish();
    await site.dropCache();
    url = await serve();
    for await (const { owner, dataset } of storedDatasets(site.store.list('', {}, never)))
      await site.enqueue({ lane: 'reconciliation', owner, dataset, source: 'full-reconciler' });
    await site.finish();
    tally.set('rebuild', (tally.get('rebuild') ?? 0) + 1);
  },
};
/** Small, so that each is taken once. */
const FIRST =
  'withDocuments lanes grant receipt document removeFile property removeFile patch revise lanes twoUploads proxy byUrl delete undelete'.split(
    ' ',
  );
const COMMON = ['upload', 'document', 'patch', 'lanes', 'delete', 'prune', 'property', 'revise', 'grant'];

/** The most that each may keep now. */
const bounds = new Map<UserId, number>();

async function stored(owner: UserId): Promise<number> {
  let bytes = 0;
  for await (const { size: each } of site.store.list(`${owner}/`, {}, never)) bytes += each;
  return bytes;
}

t.test('what the quota counts is what the store keeps, at each of 500 steps', async (t) => {
  t.comment(`LONGSHORE_SEED=${seed}`);
  for (; step < STEPS; step++) {
    const names = Object.keys(WAYS).filter((name) => name !== 'rebuild');
    const way = FIRST[step] ?? (step % 125 === 124 ? 'rebuild' : random.pick([...names, ...COMMON]));
    await WAYS[way]?.();
    for (const owner of OWNERS) {
      const counted = await site.kept.usage(owner, never);
      const kept = await stored(owner);
      if (counted !== kept) {
        t.equal(counted, kept, `step ${step}: ${way}, owner ${owner}`);
        return;
      }
      // A cache that was lost knows an owner's datasets one by one, and may let one grow meanwhile. Under raw/ lies what is
      // about to be replaced, and some small documents are never refused.
      const most = way === 'rebuild' ? kept : Math.max(QUOTA, Math.min(bounds.get(owner) ?? 0, kept));
      bounds.set(owner, most);
      if (kept > most + SMALL) {
        t.fail(`step ${step}: ${way}, ${kept} bytes are kept of ${QUOTA}`);
        return;
      }
    }
  }
  t.pass(`${known.length} datasets`);
});

t.test('that life had every way in it, taken and refused', async (t) => {
  t.comment(JSON.stringify(Object.fromEntries([...tally].sort())));
  for (const taken of ['upload 202', 'with documents 202', 'two uploads 202', 'by URL 202', 'proxy 202', 'revise 202'])
    t.ok(tally.get(taken), taken);
  for (const taken of ['documents put 204', 'variable-properties put 202', 'documents removed 204', 'patch 204'])
    t.ok(tally.get(taken), taken);
  for (const taken of ['share grant 204', 'receipt 204', 'delete 204', 'undelete 204', 'pruned', 'crash', 'rebuild'])
    t.ok(tally.get(taken), taken);
  for (const refused of ['upload', 'documents put', 'variable-properties put', 'patch'])
    t.ok(tally.get(`${refused} over quota`), `${refused} over quota`);
});
