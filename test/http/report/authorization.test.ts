// Who may call what: every route, every kind of caller, about a job that there is and one that there is not, against one
// table. A route without a row fails.

import t from 'tap';
import { fetch } from 'undici';
import { newKeyPair } from '../../../http/kernel/auth/local-issuer.ts';
import type { Route } from '../../../http/kernel/pipeline/route.ts';
import { ADMIN, bearer, httpApp } from '../http-app.ts';
import { reportApp } from './report-app.ts';

const app = await reportApp(t);
// The same routes behind the verification of tokens that runs in production.
const { url } = await httpApp(t, app.routes);

const as = async (subject: string, claims = {}, more = {}): Promise<Readonly<Record<string, string>>> => ({
  authorization: `Bearer ${await bearer(claims, { subject, ...more })}`,
});
const { privateKeyPem } = await newKeyPair();
const ROLES = {
  anonymous: {},
  'no token': { authorization: 'Bearer x' },
  expired: await as('1', {}, { lifetimeSeconds: -60 }),
  'other issuer': await as('1', {}, { issuer: 'somebody else' }),
  'other key': await as('1', {}, { privateKeyPem }),
  'wrong admin token': { 'admin-token': 'b'.repeat(40) },
  guest: await as('8', { guest: true }),
  stranger: await as('2'),
  collector: await as('1'),
  admin: { 'admin-token': ADMIN },
} as const;
type Role = keyof typeof ROLES;
const ROLE_NAMES = Object.keys(ROLES) as Role[];

type Row = Readonly<Record<Role, number>>;
const row = (strange: number, [wrongAdmin, guest, stranger, collector, admin]: readonly number[]): Row => ({
  ...{ anonymous: strange, 'no token': strange, expired: strange, 'other issuer': strange, 'other key': strange },
  ...{ 'wrong admin token': wrongAdmin ?? 0, guest: guest ?? 0, stranger: stranger ?? 0, collector: collector ?? 0 },
  admin: admin ?? 0,
});
// Columns: wrong admin token, guest, stranger, collector, admin.
const everybody = (code: number): Row => row(code, [code, code, code, code, code]);
const usersAndGuests = (code: number): Row => row(401, [401, code, code, code, 401]);
const collectorOnly = (code: number): Row => row(401, [401, 404, 404, code, 401]);
const admins = (code: number): Row => row(401, [403, 401, 401, 401, code]);

interface Rule {
  /** About a job in the collection of user 1, which is complete. */
  readonly there: Row;
  /** About none; absent for a route that is about no single job. */
  readonly absent?: Row;
}
const TABLE: Readonly<Record<string, Rule>> = {
  listReportJobs: { there: usersAndGuests(200) },
  createReportJob: { there: usersAndGuests(200) },
  getReportJob: { there: row(401, [403, 200, 200, 200, 200]), absent: row(401, [403, 404, 404, 404, 404]) },
  annotateReportJob: { there: collectorOnly(204), absent: usersAndGuests(404) },
  requeueReportJob: { there: usersAndGuests(403), absent: usersAndGuests(404) },
  removeReportJob: { there: collectorOnly(204), absent: usersAndGuests(404) },
  listReportFiles: { there: usersAndGuests(200), absent: usersAndGuests(404) },
  downloadReportFile: { there: usersAndGuests(200), absent: usersAndGuests(404) },
  getReportStderr: { there: usersAndGuests(200), absent: usersAndGuests(404) },
  getReportStatuses: { there: usersAndGuests(200) },
  linkGuest: { there: row(401, [401, 403, 204, 204, 401]) },
  expireReportJobs: { there: admins(204) },
  expireReportJob: { there: admins(204), absent: admins(404) },
  listBrokenReportJobs: { there: admins(200) },
  getHealth: { there: everybody(200) },
};

const queryJobID = app.query();
const BODIES: Readonly<Record<string, unknown>> = {
  createReportJob: { queryJobID },
  annotateReportJob: { userMeta: { summary: 'x' } },
  getReportStatuses: [],
  // The service's own routes know other tokens than the pipeline does.
  linkGuest: { guestToken: 'guest-99' },
};

async function call({ method, path, operationId }: Route, id: string, role: Role): Promise<number> {
  const body = BODIES[operationId];
  const query = operationId === 'getReportJob' ? '?save_job=false' : '';
  const response = await fetch(url + path.replace(':id', id).replace(':fileName', 'report.txt') + query, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...ROLES[role] },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await response.text();
  return response.status;
}

/** In the collection of user 1, and complete. */
async function newJob(): Promise<string> {
  const id = await app.create('1', app.query());
  await app.complete();
  return id;
}

const snapshot = () =>
  app.db.query(
    `select j.id, j.status, j.attempt, c.user_id, c.guest, c.summary from report_job j
     left join collection c on c.report_id = j.id order by 1, 4, 5`,
  );

for (const route of app.routes)
  t.test(`who may call ${route.operationId}: ${route.method} ${route.path}`, async (t) => {
    const rule = TABLE[route.operationId];
    if (!rule) throw new Error(`${route.operationId} is not in the table`);
    t.equal(rule.absent !== undefined, route.path.includes(':id'), 'both rows where a job is named');
    for (const [id, wanted] of [[await newJob(), rule.there] as const, ['0'.repeat(32), rule.absent] as const]) {
      if (!wanted) continue;
      const before = await snapshot();
      const found: Partial<Record<Role, number>> = {};
      // Those who are refused come first, and must leave everything as it is.
      for (const role of ROLE_NAMES.toSorted((a, b) => wanted[b] - wanted[a])) {
        found[role] = await call(route, id, role);
        if (wanted[role] >= 400) t.strictSame(await snapshot(), before, `${role} changes nothing`);
      }
      t.strictSame(found, { ...found, ...wanted });
    }
    // What was asked for here is in nobody's way.
    for (const claim of await app.queue.completeAndFetch(
      [],
      { limit: 10 },
      new Date(app.clock.now()),
      new AbortController().signal,
    ))
      t.equal(claim.queryId, queryJobID);
  });

t.test('the table has no row of a route that is not there', async (t) => {
  t.strictSame(Object.keys(TABLE).sort(), app.routes.map(({ operationId }) => operationId).sort());
});
