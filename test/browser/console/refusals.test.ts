// The console hides nothing that the server does not check: each request that its sources can send is sent to a running program
// by callers without the role, or who own nothing of it, and refused. No browser is needed for it.
//
//   open                      anybody
//   /admin                    operators: 401 or 403 for everybody else
//   with a name in the path   something of a person: 403 or 404 for others, and it stays as it is
//   all others                only what belongs to the caller: 401 for nobody, 403 for guests where they may not call

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { longshore, ROOT } from '../../support/longshore.ts';
import { demoConsole, uploaded } from './console.ts';

const SOURCES = join(ROOT, 'clients', 'console', 'src');
/** Sent by packages or by clients/typescript, or with a path from a table. */
const OTHERS = [
  ...['GET /events', 'POST /uploads', 'PATCH /uploads/{id}', 'POST /datasets'],
  ...['GET /datasets/{id}/files', 'GET /datasets/{id}/files/upload', 'GET /datasets/{id}/files/install'],
];
const WORDS = {
  open: 'Anybody may call.',
  registered: /^(Registered users|Users, operators and administrators) may call/,
  operators: /^Administrators and operators may call/,
};

/** `METHOD /path` of each call in the sources. */
function callsOf(): readonly string[] {
  const calls = new Set(OTHERS);
  const files = globSync('**/*.{ts,tsx}', { cwd: SOURCES });
  for (const file of files)
    for (const [, method, path] of readFileSync(join(SOURCES, file), 'utf8').matchAll(
      /\.(GET|POST|PUT|PATCH|DELETE)\(\s*'(\/[^']+)'/g,
    ))
      calls.add(`${method} ${path}`);
  return [...calls].sort();
}

interface Operation {
  readonly description: string;
  readonly security: readonly object[];
}
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };

const demo = await demoConsole(t);
const { app } = demo;
const services = [app.endpoints.installer, app.endpoints.access, app.endpoints.report].filter(Boolean);
const documents = await Promise.all(
  services.map(async (url) => [url, (await (await fetch(`${url}/api/openapi.json`)).json()) as Document] as const),
);

interface Call {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Of its service. */
  readonly url: string;
  readonly operation: Operation;
}

const calls: readonly Call[] = callsOf().map((name) => {
  const [method = '', path = ''] = name.split(' ');
  for (const [url, { paths }] of documents) {
    const operation = paths[path]?.[method.toLowerCase()];
    if (operation) return { name, method, path, url, operation };
  }
  throw new Error(`${name} is no operation of a service`);
});
const isOpen = ({ operation }: Call): boolean => operation.security.length === 0;

const tokens = {
  nobody: undefined,
  guest: await app.token('77', '--guest'),
  stranger: await app.token('3'),
  owner: await app.token('1'),
};
type Role = keyof typeof tokens;

const headersOf = (role: Role): Record<string, string> =>
  tokens[role] === undefined ? {} : { authorization: `Bearer ${tokens[role]}` };

const TUS = { 'tus-resumable': '1.0.0' };
/** Where the server looks at the body first, a sound one. */
const BODIES: Readonly<Record<string, string>> = { offer: '{"action":"grant"}', receipt: '{"action":"accept"}' };

async function send({ method, path, url }: Pick<Call, 'method' | 'path' | 'url'>, role: Role): Promise<number> {
  const isUpload = path.startsWith('/uploads');
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...headersOf(role),
      ...(isUpload ? { ...TUS, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' } : {}),
      ...(isUpload || method === 'GET' ? {} : { 'content-type': 'application/json' }),
    },
    ...(method === 'GET' ? {} : { body: BODIES[path.split('/').at(-1) ?? ''] ?? '{}' }),
  });
  await response.body?.cancel();
  return response.status;
}

await uploaded(demo, '1', 'Genes of the owner');
const mine = async () => {
  const response = await fetch(`${app.endpoints.installer}/datasets`, { headers: headersOf('owner') });
  return (await response.json()) as readonly { readonly datasetId: string }[];
};
const dataset = (await mine())[0]?.datasetId ?? '';
for (const { datasetId } of await mine())
  await longshore(['watch', datasetId, '--data', app.dir, '--user', '1', '--quiet']);
const begun = await fetch(`${app.endpoints.installer}/uploads`, {
  method: 'POST',
  headers: { ...headersOf('owner'), ...TUS, 'upload-length': '10', 'upload-metadata': 'filename eA==' },
});
const upload = begun.headers.get('location')?.split('/').at(-1) ?? '';

const filled = (call: Call): Call => ({
  ...call,
  path: call.path
    .replace('/jobs/{id}', '/jobs/1')
    .replace('/uploads/{id}', `/uploads/${upload}`)
    .replace('/dataset-end-users/{id}', `/dataset-end-users/2-${dataset}`)
    .replace('{kind}/{name}', 'lane/import')
    .replace('{lane}', 'import')
    .replace('{recipient}', '2')
    .replace('{fileName}', 'notes.txt')
    .replace(/\{\w+\}/, dataset),
});

t.test('all calls were found', async (t) => {
  t.ok(calls.length > 50, `${calls.length} calls`);
  for (const name of ['POST /admin/problems/retry', 'PATCH /admin/lanes/{lane}/sizes', 'DELETE /datasets/{id}'])
    t.ok(
      calls.some((call) => call.name === name),
      name,
    );
  t.strictSame(
    calls.filter(isOpen).map(({ name }) => name),
    [
      ...['GET /console/settings.json', 'GET /health', 'GET /metrics', 'GET /service-meta'],
      ...['POST /console/sample-sign-in', 'POST /console/sign-in'],
    ],
    'only these are open',
  );
});

const operators = calls.filter(({ path }) => path.startsWith('/admin/'));
for (const call of operators)
  t.test(`${call.name} is for operators`, async (t) => {
    t.match(call.operation.description, WORDS.operators);
    for (const role of Object.keys(tokens) as Role[])
      t.ok([401, 403].includes(await send(filled(call), role)), `refused to ${role}`);
  });

const others = calls.filter((call) => !operators.includes(call) && !isOpen(call));
for (const call of others)
  t.test(`${call.name} is for those whom it concerns`, async (t) => {
    t.equal(await send(filled(call), 'nobody'), 401, 'nobody');
    if (WORDS.registered.test(call.operation.description)) t.equal(await send(filled(call), 'guest'), 403, 'guest');
    if (!call.path.includes('{')) return;
    t.ok(dataset !== '' && upload !== '', 'there is something of another person');
    const before = JSON.stringify(await mine());
    const status = await send(filled(call), 'stranger');
    t.ok([403, 404].includes(status), `${status} for a stranger`);
    t.equal(JSON.stringify(await mine()), before, 'nothing is changed');
  });

t.test('the owner of the dataset is not refused', async (t) => {
  for (const call of others.filter(({ method, path }) => method === 'GET' && path.startsWith('/datasets/{id}')))
    if (!/fileName|install/.test(call.path)) t.equal(await send(filled(call), 'owner'), 200, call.name);
});
