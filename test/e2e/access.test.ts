// The dataset access service of the running program, from nothing to use.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { commandBlock, runCommands } from '../support/command-blocks.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const base = app.endpoints.access;
const [OWNER, MANAGER, USER] = ['801', '802', '803'];
const person = async (id: string, name: string): Promise<string> =>
  app.token(id, '--given-name', name, '--family-name', 'Doe', '--email', `${name.toLowerCase()}@lab.example`);
const tokens = {
  owner: await person(OWNER, 'Olga'),
  manager: await person(MANAGER, 'Mara'),
  user: await person(USER, 'Uwe'),
};

async function call(headers: Record<string, string>, method: string, path: string, body?: unknown) {
  const response = await fetch(base + path, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}
const as = (who: keyof typeof tokens) => ({ auth_key: tokens[who] });

t.test('from nothing to use: owner, manager, request, approval, results, history, revocation', async (t) => {
  const admin = { 'admin-token': app.endpoints.adminToken };
  t.equal((await call(as('owner'), 'GET', '/staff')).status, 403, 'nobody is staff yet');
  t.match(await call(admin, 'POST', '/staff', { userId: Number(OWNER), isOwner: true }), { status: 200 });
  const provider = { datasetId: 'SAMPLE_protected', isManager: true };
  t.match(await call(as('manager'), 'POST', '/dataset-providers', { ...provider, userId: Number(MANAGER) }), {
    status: 403,
  });
  t.match(await call(as('owner'), 'POST', '/dataset-providers', { ...provider, userId: Number(MANAGER) }), {
    status: 200,
    body: { created: true },
  });
  const request = {
    ...{ userId: Number(USER), datasetId: 'SAMPLE_protected', purpose: 'P', researchQuestion: 'R' },
    ...{ analysisPlan: 'A', disseminationPlan: 'D', priorAuth: 'yes' },
  };
  t.strictSame(await call(as('user'), 'POST', '/dataset-end-users', request), {
    status: 200,
    body: { created: true, endUserId: `${USER}-SAMPLE_protected` },
  });
  const mayAll = async () => {
    const { body } = await call(as('user'), 'GET', '/permissions/STUDY_protected');
    return (body as { actionAuthorization: Record<string, boolean> }).actionAuthorization.resultsAll;
  };
  t.equal(await mayAll(), false);
  const decide = (approvalStatus: string) =>
    call(as('manager'), 'PATCH', `/dataset-end-users/${USER}-SAMPLE_protected`, [
      { op: 'replace', path: '/approvalStatus', value: approvalStatus },
    ]);
  t.equal((await decide('approved')).status, 204);
  t.equal(await mayAll(), true);
  t.match((await call(as('user'), 'GET', '/permissions')).body, {
    perDataset: { SAMPLE_protected: { accessRequestStatus: 'approved', type: 'end-user', isManager: false } },
  });
  t.match((await call(as('manager'), 'GET', '/history')).body, {
    meta: { rows: 2, offset: 0 },
    results: [
      {
        cause: { action: 'UPDATE', user: { userID: Number(MANAGER), firstName: 'Mara' } },
        row: { approvalStatus: 'APPROVED', user: { userID: Number(USER), firstName: 'Uwe' } },
      },
      { cause: { action: 'CREATE', user: { userID: Number(USER) } }, row: { approvalStatus: 'REQUESTED' } },
    ],
  });
  t.equal((await decide('denied')).status, 204);
  t.equal(await mayAll(), false);
  const denied = { approvalStatus: 'denied', denialReason: 'The request was denied; no reason was given.' };
  const record = `/dataset-end-users/${USER}-SAMPLE_protected`;
  t.match(await call(as('user'), 'GET', record), { status: 200, body: denied });
  t.equal((await call(as('user'), 'PATCH', record, [{ op: 'replace', path: '/purpose', value: 'Q' }])).status, 403);
  t.equal((await call(as('manager'), 'DELETE', record)).status, 204);
  t.equal((await call(as('user'), 'GET', record)).status, 404);
  t.strictSame((await call(as('user'), 'GET', '/permissions')).body, { perDataset: {} }, 'as before the request');
  const told = { ...denied, approvalStatus: 'DENIED' };
  const revoked = {
    meta: { rows: 4, offset: 0 },
    results: [
      { cause: { action: 'DELETE', user: { userID: Number(MANAGER) } }, row: told },
      { cause: { action: 'UPDATE', user: { userID: Number(MANAGER) } }, row: { ...told, dateDenied: /^20\d\d-/ } },
      { row: { approvalStatus: 'APPROVED' } },
      { row: { approvalStatus: 'REQUESTED' } },
    ],
  };
  for (const who of ['owner', 'manager'] as const) t.match((await call(as(who), 'GET', '/history')).body, revoked, who);
  t.strictSame((await call(as('user'), 'GET', '/history')).body, { meta: { rows: 0, offset: 0 }, results: [] });
});

t.test('its mails are files in the data directory, listed by access mail', async (t) => {
  // Written within seconds; the metric says when.
  for (;;) {
    const text = await (await fetch(`${base}/metrics`)).text();
    if (/^longshore_access_mails\{state="waiting"\} 0$/m.test(text) && /mails_total\{result="sent"\} 2$/m.test(text))
      break;
  }
  const { stdout, code } = await longshore(['access', 'mail', '--data', dir, '--json']);
  t.equal(code, 0);
  t.match(JSON.parse(stdout), [
    {
      to: ['uwe@lab.example', 'support@longshore.example'],
      cc: ['mara@lab.example'],
      subject: 'Sleep and light in two cities: Access Request Approved',
      text: /The request of Uwe Doe .*\n(?:.*\n)*Has an ethics committee approved your plans\?: yes/,
    },
    { subject: 'Sleep and light in two cities: Access Request Denied' },
  ]);
  const list = await longshore(['access', 'mail', '--data', dir]);
  t.match(list.stdout, /uwe@lab\.example, support@longshore\.example +mara@lab\.example +Sleep and light/);
});

t.test('the commands of the README work as they stand there', async (t) => {
  const script = commandBlock('access').replaceAll('/tmp/longshore', dir).replaceAll('http://127.0.0.1:8083', base);
  const stdout = await runCommands(script);
  t.match(
    stdout,
    /\{"staffId":\d+\}\{"created":true,"providerId":\d+\}\{"created":true,"endUserId":"3-SAMPLE_private"\}/,
  );
  t.match(stdout, /"SAMPLE_private":\{[^}]*"resultsAll":true\}/);
  t.match(stdout, /"action":"UPDATE"/);
});

t.test('there is a sample study of every restriction level', async (t) => {
  const { body } = await call(as('owner'), 'GET', '/permissions?all=true');
  const { perDataset } = body as { perDataset: Record<string, { studyId: string }> };
  const levels = ['controlled', 'prerelease', 'private', 'protected', 'public'];
  t.strictSame(
    Object.keys(perDataset).sort(),
    levels.map((level) => `SAMPLE_${level}`),
  );
});

t.test('health, metrics and documentation are served like everywhere', async (t) => {
  const health = await call({}, 'GET', '/health');
  t.match(health, {
    status: 200,
    body: {
      status: 'healthy',
      dependencies: [
        { name: 'access-db', online: 'yes' },
        { name: 'account-db', online: 'yes' },
      ],
    },
  });
  const metrics = await (await fetch(`${base}/metrics`)).text();
  t.match(metrics, /longshore_daemon_runs_total\{daemon="accessApproval",result="done"\} [1-9]/);
  t.match(await (await fetch(`${base}/api`)).text(), /Longshore access/);
  t.match(await (await fetch(`${base}/api/openapi.json`)).text(), /dataset-end-users/);
});

t.test('access import adds and replaces datasets, all or none, and says what is wrong where', async (t) => {
  const file = join(dir, 'catalogue.yaml');
  const write = (...lines: string[]) => writeFile(file, `datasets:\n${lines.join('\n')}\n`);
  const one = (id: string, level: string) =>
    `  - { datasetId: ${id}, studyId: S_${id}, displayName: Name ${id}, restrictionLevel: ${level} }`;
  const run = () => longshore(['access', 'import', file, '--data', dir]);
  await write(one('NEW_1', 'private'), one('NEW_2', 'public'));
  t.match(await run(), { code: 0, stdout: '2 datasets read, 2 new or changed\n' });
  t.match(await run(), { code: 0, stdout: '2 datasets read, 0 new or changed\n' });
  await write(one('NEW_1', 'controlled'), one('NEW_3', 'open'), one('bad-id', 'public'), one('NEW_1', 'public'));
  const faulty = await run();
  t.equal(faulty.code, 1);
  for (const sentence of [
    /catalogue\.yaml:3:\d+: datasets\[1\]\.restrictionLevel is 'open'/,
    /catalogue\.yaml:4:\d+: datasets\[2\]\.datasetId may contain only letters/,
    /catalogue\.yaml:5:\d+: datasets\[3\]\.datasetId is already used by datasets\[0\]/,
  ])
    t.match(faulty.stderr, sentence);
  t.match((await call(as('user'), 'GET', '/permissions/NEW_1')).body, { actionAuthorization: { subsetting: false } });
  await write(one('NEW_1', 'controlled'));
  t.match(await run(), { code: 0, stdout: '1 datasets read, 1 new or changed\n' });
  t.match((await call(as('user'), 'GET', '/permissions/S_NEW_1')).body, { actionAuthorization: { subsetting: true } });
  t.equal((await longshore(['access', 'export'])).code, 2);
});
