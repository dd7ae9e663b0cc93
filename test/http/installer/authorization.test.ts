// Who may call what: every route of the installer, every kind of caller, on a private dataset, a public one and one that
// is not there, against one table. A route without a row fails. Whoever may not see a dataset cannot tell it from one
// that is not there.

import t from 'tap';
import { FormData, fetch } from 'undici';
import { targetId } from '../../../engine/model/ids.ts';
import { fileKey, objectKey } from '../../../engine/model/object-key.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { consoleFiles } from '../../../http/installer/console/console-files.ts';
import { SignInCodes } from '../../../http/installer/console/sign-in-codes.ts';
import { newKeyPair } from '../../../http/kernel/auth/local-issuer.ts';
import type { Route } from '../../../http/kernel/pipeline/route.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newDataset, newUser } from '../../support/dataset-samples.ts';
import { ADMIN, bearer, httpApp } from '../http-app.ts';
import { soundDetails } from './installation.ts';
import { installerApp } from './installer-app.ts';
import { type Added, imported, share } from './stored-datasets.ts';
import { OFFSET_TYPE, TUS } from './uploads/resumable-calls.ts';

const db = await cacheDatabase(t);
const shown: string[] = [];
const codes = new SignInCodes(systemClock, (code) => shown.push(code));
const app = await installerApp(t, db, { settings: { uploadsPerUser: 10, resumablePerUser: 100 }, codes });
// The same routes behind the verification of tokens that runs in production.
const { url } = await httpApp(t, app.routes);

const [owner, recipient, revoked, stranger] = [newUser(), newUser(), newUser(), newUser()];
const as = async (subject: string, claims = {}, more = {}): Promise<Readonly<Record<string, string>>> => ({
  authorization: `Bearer ${await bearer({ given_name: 'Ada', ...claims }, { subject, ...more })}`,
});
const { privateKeyPem } = await newKeyPair();
const ROLES = {
  anonymous: {},
  expired: await as(owner, {}, { lifetimeSeconds: -60 }),
  'other issuer': await as(owner, {}, { issuer: 'somebody else' }),
  'other key': await as(owner, {}, { privateKeyPem }),
  'wrong admin token': { 'admin-token': 'b'.repeat(40) },
  guest: await as(newUser(), { guest: true }),
  stranger: await as(stranger),
  revoked: await as(revoked),
  recipient: await as(recipient),
  owner: await as(owner),
  admin: { 'admin-token': ADMIN },
} as const;
type Role = keyof typeof ROLES;
const ROLE_NAMES = Object.keys(ROLES) as Role[];

/** `in` = answered with what was asked for. */
type Verdict = 'in' | 400 | 401 | 403 | 404 | 409 | 410;
type Row = Readonly<Record<Role, Verdict>>;
/** One verdict for a route without a dataset, else one for each kind of dataset. */
type Rule = { readonly any: Row } | Readonly<Record<Kind, Row>>;
const KINDS = ['private', 'public', 'missing'] as const;
type Kind = (typeof KINDS)[number];

const KNOWN: readonly Role[] = ['wrong admin token', 'guest', 'stranger', 'revoked', 'recipient', 'owner', 'admin'];
/** The verdict on whoever is nobody, then those on the others in this order. */
const row = (strange: Verdict, known: readonly Verdict[]): Row =>
  Object.fromEntries(ROLE_NAMES.map((role) => [role, known[KNOWN.indexOf(role)] ?? strange])) as Row;

// Columns: wrong admin token, guest, stranger, one whose share was revoked, recipient, owner, admin.
const OPEN: Rule = { any: row('in', []) };
const USERS: Rule = { any: row(401, [401, 403, 'in', 'in', 'in', 'in', 401]) };
const UPLOADERS: Rule = { any: row(401, [401, 403, 404, 404, 404, 404, 401]) };
const USERS_OR_ADMIN: Rule = { any: row(401, [403, 403, 'in', 'in', 'in', 'in', 'in']) };
const SUBSCRIBERS: Rule = { any: row(401, [403, 403, 404, 404, 404, 404, 404]) };
const USERS_AND_GUESTS: Rule = { any: row(401, [401, 'in', 'in', 'in', 'in', 'in', 401]) };
const ADMINS = { any: row(401, [403, 401, 401, 401, 401, 401, 'in']) };
const SEE_DETAILS: Rule = {
  private: row(401, [403, 403, 404, 410, 'in', 'in', 'in']),
  public: row(401, [403, 403, 'in', 'in', 'in', 'in', 'in']),
  missing: row(401, [403, 403, 404, 404, 404, 404, 404]),
};
const SEE_FILES: Rule = {
  private: row(401, [403, 404, 404, 410, 'in', 'in', 'in']),
  public: row(401, [403, 'in', 'in', 'in', 'in', 'in', 'in']),
  missing: row(401, [403, 404, 404, 404, 404, 404, 404]),
};
/** The contract has no 410 for the archives. */
const SEE_ARCHIVES: Rule = { ...SEE_FILES, private: row(401, [403, 404, 404, 404, 'in', 'in', 'in']) };
const OWNER = {
  private: row(401, [401, 403, 404, 404, 403, 'in', 401]),
  public: row(401, [401, 403, 403, 403, 403, 'in', 401]),
  missing: row(401, [401, 403, 404, 404, 404, 404, 401]),
} satisfies Rule;
const OWNER_OF_FILES: Rule = { ...OWNER, private: row(401, [401, 403, 404, 410, 403, 'in', 401]) };
const OWNER_OR_ADMIN: Rule = {
  private: row(401, [403, 403, 404, 404, 403, 'in', 'in']),
  public: row(401, [403, 403, 403, 403, 403, 'in', 'in']),
  missing: row(401, [403, 403, 404, 404, 404, 404, 404]),
};
const UNDELETE: Rule = { ...OWNER_OR_ADMIN, private: row(401, [403, 403, 404, 410, 403, 'in', 'in']) };
const RECIPIENT_OR_ADMIN: Rule = {
  private: row(401, [403, 403, 404, 404, 'in', 403, 'in']),
  public: row(401, [403, 403, 403, 403, 'in', 403, 'in']),
  missing: row(401, [403, 403, 404, 404, 404, 404, 404]),
};
const ADMINS_ON_DATASETS: Rule = {
  private: ADMINS.any,
  public: ADMINS.any,
  missing: row(401, [403, 401, 401, 401, 401, 401, 404]),
};

const TABLE: Readonly<Record<string, Rule>> = {
  listDatasets: USERS,
  listResumableUploads: USERS,
  createResumableUpload: USERS,
  // Nobody has this upload.
  getResumableUpload: UPLOADERS,
  continueResumableUpload: UPLOADERS,
  terminateResumableUpload: UPLOADERS,
  overrideResumableUpload: UPLOADERS,
  getNotifications: USERS,
  patchNotifications: USERS,
  listWebhooks: USERS_OR_ADMIN,
  createWebhook: USERS_OR_ADMIN,
  // Nobody has this webhook.
  getWebhook: SUBSCRIBERS,
  patchWebhook: SUBSCRIBERS,
  deleteWebhook: SUBSCRIBERS,
  rotateWebhookSecret: SUBSCRIBERS,
  testWebhook: SUBSCRIBERS,
  listWebhookDeliveries: SUBSCRIBERS,
  listCommunityDatasets: USERS_AND_GUESTS,
  createDataset: USERS,
  getDataset: SEE_DETAILS,
  reviseDataset: OWNER,
  patchDataset: OWNER,
  deleteDataset: OWNER_OR_ADMIN,
  undeleteDataset: UNDELETE,
  // Nothing of these datasets has failed.
  retryDataset: {
    ...OWNER,
    private: { ...OWNER.private, owner: 409 },
    public: { ...OWNER.public, owner: 409 },
  },
  putShareOffer: OWNER_OR_ADMIN,
  putShareReceipt: RECIPIENT_OR_ADMIN,
  listShareOffers: USERS,
  getSelfMeta: USERS,
  followDataset: SEE_FILES,
  followEvents: { any: row(401, [403, 403, 'in', 'in', 'in', 'in', 403]) },
  listDatasetFiles: SEE_FILES,
  downloadUpload: SEE_ARCHIVES,
  downloadInstall: SEE_ARCHIVES,
  getDocument: SEE_FILES,
  putDocument: OWNER_OF_FILES,
  deleteDocument: OWNER_OF_FILES,
  getPropertyFile: SEE_FILES,
  putPropertyFile: OWNER_OF_FILES,
  deletePropertyFile: OWNER_OF_FILES,
  getVariablePropertyFile: SEE_FILES,
  putVariablePropertyFile: OWNER_OF_FILES,
  deleteVariablePropertyFile: OWNER_OF_FILES,
  getStoredMetadata: SEE_FILES,
  getUploadError: SEE_FILES,
  getUploadErrors: SEE_FILES,
  listPlugins: USERS_AND_GUESTS,
  getServiceMeta: OPEN,
  getConsole: OPEN,
  getConsoleFile: OPEN,
  getConsoleSettings: OPEN,
  getConsoleSelf: USERS_AND_GUESTS,
  signInByCode: OPEN,
  signInAsSample: OPEN,
  signOutEverywhere: USERS_AND_GUESTS,
  reportDatasets: ADMINS,
  reportDataset: ADMINS_ON_DATASETS,
  reportFailedImports: ADMINS,
  reportFailedInstalls: ADMINS,
  reportObjects: ADMINS,
  readAudit: ADMINS,
  // Nothing was tried with any dataset here.
  readDatasetHistory: { any: ADMINS_ON_DATASETS.missing },
  uploadForUser: ADMINS,
  reportJobs: ADMINS,
  // There is no such job.
  retryJob: { any: ADMINS_ON_DATASETS.missing },
  cancelJob: { any: ADMINS_ON_DATASETS.missing },
  reconcileDatasets: ADMINS,
  reportReconciliation: ADMINS,
  pruneDatasets: ADMINS,
  reportPruning: ADMINS,
  clearFailedInstalls: ADMINS,
  reportClearedInstalls: ADMINS,
  purgeDataset: ADMINS_ON_DATASETS,
  showConfiguration: ADMINS,
  reloadConfiguration: ADMINS,
  compareConfiguration: ADMINS,
  sizeLane: ADMINS,
  showLogLevel: ADMINS,
  setLogLevel: ADMINS,
  readMetricsHistory: ADMINS,
  // It names neither a dataset nor a request.
  readLog: { any: row(401, [403, 401, 401, 401, 401, 401, 400]) },
  listPauses: ADMINS,
  pause: ADMINS,
  resume: ADMINS,
  listProblems: ADMINS,
  listProblemCauses: ADMINS,
  retryProblems: ADMINS,
  discardProblems: ADMINS,
  holdObjectStore: ADMINS,
  releaseObjectStore: ADMINS,
};

const JSON_TYPE = { 'content-type': 'application/json' };
const form = (body: object, ...files: readonly string[]): { readonly body: FormData } => {
  const made = new FormData();
  made.append('details', JSON.stringify(body));
  for (const part of ['dataFile', ...files]) made.append(part, new Blob(['A1\n']), 'genes.txt');
  return { body: made };
};
const json = (body: object) => ({ headers: JSON_TYPE, body: JSON.stringify(body) });
const file = (type: string) => ({ headers: { 'content-type': type }, body: 'a\tb\n' });
/** Each works once. */
const newCode = (): string => {
  codes.issue();
  return shown.at(-1) ?? '';
};
const built = await consoleFiles()();
if (!built) throw new Error('the console is not built: npm run build:console');
type Sent = { readonly headers?: Readonly<Record<string, string>>; readonly body?: FormData | string };
/** A sound request, of the operations that need a body or a header. */
const SENT: Readonly<Record<string, (dataset: string) => Sent>> = {
  createDataset: () => form(soundDetails()),
  uploadForUser: () => ({ ...form(soundDetails()), headers: { 'user-id': owner } }),
  createResumableUpload: () => ({ headers: { ...TUS, 'upload-length': '1', 'upload-metadata': 'filename eA==' } }),
  getResumableUpload: () => ({ headers: TUS }),
  continueResumableUpload: () => ({ headers: { ...TUS, ...OFFSET_TYPE, 'upload-offset': '0' }, body: 'x' }),
  terminateResumableUpload: () => ({ headers: TUS }),
  overrideResumableUpload: () => ({ headers: { ...TUS, 'x-http-method-override': 'DELETE' } }),
  createWebhook: () => json({ url: 'https://receiver.example/' }),
  patchWebhook: () => json({}),
  patchNotifications: () => json({}),
  reviseDataset: () => form({ origin: 'direct-upload', revisionNote: 'Measured again' }, 'dataPropertiesFile'),
  patchDataset: () => json({ summary: { value: 'Another summary' } }),
  putShareOffer: () => json({ action: 'grant' }),
  putShareReceipt: () => json({ action: 'accept' }),
  putDocument: () => file('application/octet-stream'),
  putPropertyFile: () => file('text/tab-separated-values'),
  putVariablePropertyFile: () => file('text/tab-separated-values'),
  clearFailedInstalls: () => json({ all: true }),
  pause: () => json({}),
  sizeLane: () => json({}),
  retryProblems: () => json({ all: true }),
  discardProblems: () => json({ all: true, reason: 'r' }),
  holdObjectStore: () => json({ seconds: 1 }),
  cancelJob: () => json({}),
  signInByCode: () => json({ code: newCode() }),
  signInAsSample: () => json({ user: '1' }),
  purgeDataset: (dataset) => ({ headers: JSON_TYPE, body: `{"userId":${owner},"datasetId":"${dataset}"}` }),
};

async function dataset(kind: Kind): Promise<Added> {
  if (kind === 'missing') return { owner, dataset: newDataset() };
  const at = await imported(app, db, owner, {
    type: { name: 'rnaseq', version: '1.0' },
    installTargets: [targetId('PlainSite')],
    ...(kind === 'public' ? { visibility: 'public' } : {}),
  });
  await share(db, at, recipient, 'grant', 'accept');
  await share(db, at, revoked, 'revoke', 'accept');
  const signal = new AbortController().signal;
  for (const key of [
    fileKey(at, 'documents', 'notes.pdf'),
    fileKey(at, 'datasetProperties', 'p.tsv'),
    objectKey(at, 'upload-error.json'),
  ])
    await app.store.put(key, Buffer.from('{"status":"failed","message":"x"}'), {}, signal);
  return at;
}

/** Differ from call to call: the last two are of the connection, and say how much of the body came before the answer. */
const INCIDENTAL = new Set(['date', 'x-request-id', 'connection', 'keep-alive']);

async function call(route: Route, at: Added, role: Role) {
  const { method, path, operationId } = route;
  const { body, headers = {} }: Sent = SENT[operationId]?.(at.dataset) ?? {};
  const target = path
    .replace('/jobs/:id', '/jobs/12345')
    .replace(':id', at.dataset)
    .replace(':kind/:name', 'lane/import')
    .replace(':lane', 'import')
    .replace(':recipient', recipient)
    .replace('files/:name', `files/${built?.script}`)
    .replace(':fileName', path.includes('documents') ? 'notes.pdf' : 'p.tsv');
  const response = await fetch(url + target, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...ROLES[role] },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const shown = Object.fromEntries([...response.headers].filter(([name]) => !INCIDENTAL.has(name)));
  return { status: response.status, text: text.replaceAll(at.dataset, 'ID'), headers: shown };
}

const verdictOf = (status: number): Verdict => (status < 400 ? 'in' : (status as Verdict));

for (const route of app.routes)
  t.test(`who may call ${route.operationId}: ${route.method} ${route.path}`, async (t) => {
    const rule = TABLE[route.operationId];
    if (!rule) throw new Error(`${route.operationId} is not in the table`);
    const kinds = 'any' in rule ? (['missing'] as const) : KINDS;
    const refusals = new Map<string, object>();
    for (const kind of kinds) {
      const wanted = 'any' in rule ? rule.any : rule[kind];
      const at = await dataset(kind);
      const before = app.store.changes.length;
      // Those who are refused come first, and must leave everything as it is.
      const order = [...ROLE_NAMES].sort((a, b) => Number(wanted[a] === 'in') - Number(wanted[b] === 'in'));
      const found: Partial<Record<Role, Verdict>> = {};
      for (const role of order) {
        const answer = await call(route, at, role);
        found[role] = verdictOf(answer.status);
        if (wanted[role] !== 'in') {
          t.equal(app.store.changes.length, before, `${role} changes nothing`);
          refusals.set(`${role} ${kind}`, answer);
        }
      }
      t.strictSame(found, { ...wanted }, kind);
    }
    if ('any' in rule) return;
    for (const kind of ['private', 'public'] as const)
      for (const role of ROLE_NAMES)
        if (rule[kind][role] !== 'in' && rule[kind][role] === rule.missing[role])
          t.strictSame(
            refusals.get(`${role} ${kind}`),
            refusals.get(`${role} missing`),
            `${role} cannot tell a ${kind} dataset from none`,
          );
  });

t.test('the table has no row of a route that does not exist', async (t) => {
  t.strictSame(Object.keys(TABLE).sort(), app.routes.map(({ operationId }) => operationId).sort());
});
