import t, { type Test } from 'tap';
import { SecondChance } from '../../../actors/daemons/second-chance.ts';
import { PostgresCatalog } from '../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresJobAdmin } from '../../../engine/adapters/jobs/job-admin-postgres.ts';
import { PostgresJobs } from '../../../engine/adapters/jobs/jobs-postgres.ts';
import { PostgresProblems } from '../../../engine/adapters/jobs/problems-postgres.ts';
import { PostgresLeases } from '../../../engine/adapters/postgres/leases-postgres.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess, jobsSeen } from '../../support/engine-process.ts';
import { ADMIN_TOKEN, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const at = await cacheDatabase(t);
const ADMIN = { 'admin-token': ADMIN_TOKEN };
const JSON_BODY = { ...ADMIN, 'content-type': 'application/json' };

interface Handled {
  readonly problems: number;
  readonly done: number;
  readonly lanes: readonly object[];
  readonly next?: string;
}

async function setup(t: Test) {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const clock = new VirtualClock();
  const jobs = new PostgresJobs(db, instance, clock);
  let events = 0;
  const secondChances = new SecondChance({
    problems: new PostgresProblems(db),
    ...{ jobs, clock, log: silentLogger(), catalog: new PostgresCatalog(db), targets: new Map() },
    ...{ jobAdmin: new PostgresJobAdmin(db), leases: new PostgresLeases(db, instance) },
    events: { nextEventId: async () => ++events },
  });
  const app = await installerApp(t, db, { jobs, secondChances });
  const call = async (method: string, path: string, body?: object) => {
    const init = body ? { headers: JSON_BODY, body: JSON.stringify(body) } : { headers: ADMIN };
    return await app.call(undefined, method, path, init);
  };
  const read = async <Answer>(operation: string, path: string): Promise<Answer> => {
    const answer = await call('GET', path);
    t.equal(answer.status, 200, answer.text);
    t.strictSame(responseFaults(schemaOf(app.routes, operation, 200), answer.text), []);
    return answer.body as Answer;
  };
  const order = async (name: 'retry' | 'discard', body: object): Promise<Handled> => {
    const answer = await call('POST', `/admin/problems/${name}`, body);
    t.equal(answer.status, 200, answer.text);
    t.strictSame(responseFaults(schemaOf(app.routes, `${name}Problems`, 200), answer.text), []);
    return answer.body as Handled;
  };
  const list = async (query = ''): Promise<readonly string[]> =>
    (await read<{ results: readonly { id: string }[] }>('listProblems', `/admin/problems${query}`)).results.map(
      ({ id }) => id,
    );
  const add = async (count: number, message: string, name = message.split(' ')[0] ?? ''): Promise<void> => {
    await db.query(
      `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata,
        visibility, name, upload_status, import_status, import_messages)
      select $1 || i, 42, $1 || i, 0, 'live', 'genelist', '1.0', '{}', 'private', 'name', 'success', 'failed', array[$2 || ' ' || i]
      from generate_series(1, $3::integer) i`,
      [name, message, count],
    );
  };
  return { app, db, call, read, order, list, add };
}

t.test('problems are listed in pages, and grouped by cause', async (t) => {
  const { db, read, list, add } = await setup(t);
  t.strictSame(await read('listProblems', '/admin/problems'), { results: [] });
  await add(2, 'disk full at');
  await db.query(`insert into install_status (dataset_id, target_id, kind, status, messages)
    values ('disk1', 'AlphaDB', 'data', 'failed-installation', array['no table'])`);
  const first = await read<{ results: object[]; next: string }>('listProblems', '/admin/problems?lane=import&limit=1');
  t.match(first.results, [
    {
      ...{ id: 'import:disk1', lane: 'import', state: 'failed', datasetId: 'disk1', owner: 42, type: 'genelist@1.0' },
      ...{ message: 'disk full at 1', cause: 'disk full at N', since: /^\d{4}-/ },
    },
  ]);
  const second = await read<{ results: object[] }>(
    'listProblems',
    `/admin/problems?lane=import&limit=1&after=${first.next}`,
  );
  t.match(second.results, [{ id: 'import:disk2' }]);
  t.strictSame(await list('?target=AlphaDB&type=genelist@1.0&contains=TABLE&owner=42'), ['install:disk1:AlphaDB']);
  t.strictSame(await list('?plugin=lists&dataset=disk2'), ['import:disk2']);
  t.strictSame(await list('?before=2020-01-01'), []);
  const causes = await read<{ results: object[] }>('listProblemCauses', '/admin/problems/causes');
  t.match(causes.results, [
    { cause: 'disk full at N', lane: 'import', state: 'failed', count: 2, example: { id: 'import:disk1' } },
    { cause: 'no table', lane: 'install', state: 'failed-installation', count: 1 },
  ]);
});

t.test('an order is counted first, then carried out, in as many requests as it takes', async (t) => {
  const { db, order, list, add } = await setup(t);
  await add(1_001, 'disk full');
  await add(3, 'gene unknown');
  const cause = 'disk full N';
  t.strictSame(await order('retry', { cause, dryRun: true }), {
    ...{ dryRun: true, problems: 1_001, done: 0 },
    lanes: [{ lane: 'import', problems: 1_001, done: 0, skipped: {} }],
  });
  t.strictSame((await jobsSeen(db)).length, 0, 'a dry run changes nothing');
  const first = await order('retry', { cause });
  t.match(first, { problems: 1_000, done: 1_000 });
  t.ok(first.next);
  const rest = await order('retry', { cause, after: first.next });
  t.strictSame([rest.problems, rest.done, rest.next], [1, 1, undefined]);
  const queued = await jobsSeen(db);
  t.strictSame(queued.length, 1_001);
  t.ok(
    queued.every(({ lane, state, dataset }) => lane === 'import' && state === 'queued' && dataset.startsWith('disk')),
  );
  t.strictSame(await list(), ['import:gene1', 'import:gene2', 'import:gene3']);
});

t.test('named problems are discarded with a reason, which the report on the dataset shows', async (t) => {
  const { db, read, order, list, add } = await setup(t);
  await add(3, 'gene unknown');
  await order('discard', { ids: ['import:gene1', 'import:none'], reason: 'a test upload' });
  t.strictSame(await list(), ['import:gene2', 'import:gene3']);
  t.strictSame(await order('discard', { ids: ['import:gene1'], reason: 'twice' }), {
    ...{ dryRun: false, problems: 0, done: 0, lanes: [] },
  });
  await db.query(`update dataset set metadata = '${JSON.stringify(METADATA)}'`);
  t.match(await read('reportDataset', '/admin/reports/datasets/gene1'), {
    discarded: [{ lane: 'import', by: 'Admin-Token', reason: 'a test upload', message: 'gene unknown 1' }],
  });
  t.notOk('discarded' in (await read<object>('reportDataset', '/admin/reports/datasets/gene2')));
});

const METADATA = {
  ...{ owner: '42', name: 'n', summary: 's', origin: 'o', created: '2026-01-01T00:00:00Z', visibility: 'private' },
  ...{ type: { name: 'genelist', version: '1.0' }, installTargets: ['AlphaDB'], dependencies: [] },
};

t.test('what is meant must be clear, and a fault names its field', async (t) => {
  const { call, add, list } = await setup(t);
  await add(1, 'gene unknown');
  for (const [name, body, field] of [
    ['retry', {}, 'all'],
    ['retry', { dryRun: true }, 'all'],
    ['retry', { all: false }, 'all'],
    ['discard', { reason: 'x' }, 'all'],
    ['discard', { all: true }, 'reason'],
    ['retry', { lane: 'imports' }, 'lane'],
    ['retry', { plugin: 'none' }, 'plugin'],
    ['retry', { from: 'yesterday.' }, 'from'],
    ['retry', { all: true, after: 'x' }, 'after'],
    ['retry', { ids: [] }, 'ids'],
    ['retry', { al: true }, 'al'],
  ] as const) {
    const { status, body: answer } = await call('POST', `/admin/problems/${name}`, body);
    t.equal(status, 422, JSON.stringify(body));
    t.ok(field in (answer as { errors: { byKey: object } }).errors.byKey, `${field} of ${JSON.stringify(answer)}`);
  }
  for (const query of [
    'lane=imports',
    'plugin=none',
    'from=yesterday.',
    'after=x',
    'limit=0',
    'dataset=a/b',
    'state=dying',
  ]) {
    const { status, text } = await call('GET', `/admin/problems?${query}`);
    t.strictSame([status, text.includes(query.split('=')[0] ?? '')], [400, true], text);
  }
  t.strictSame(await list(), ['import:gene1']);
});
