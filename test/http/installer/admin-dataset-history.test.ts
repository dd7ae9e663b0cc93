import t, { type Test } from 'tap';
import type { AttemptOutcome } from '../../../engine/ports/job-history.ts';
import type { RecordedOutcome } from '../../../engine/ports/jobs.ts';
import { datasetHistoryRoute } from '../../../http/installer/admin/dataset-history.ts';
import { auditRow } from '../../conformance/audit-log.ts';
import { claimOne, complete, request, signal } from '../../conformance/jobs.ts';
import { FakeAuditLog } from '../../fakes/fake-audit-log.ts';
import { FakeJobHistory } from '../../fakes/fake-job-history.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { LeaseTable } from '../../fakes/fake-leases.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

interface Page {
  readonly results: readonly {
    readonly id: string;
    readonly job?: { readonly outcome: string };
    readonly request?: unknown;
  }[];
  readonly next?: string;
}

async function setup(t: Test) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 2, 12));
  const table = new JobTable(clock, new LeaseTable(clock), () => undefined);
  const jobs = new FakeJobs(table, 1);
  const audit = new FakeAuditLog();
  const routes = [datasetHistoryRoute({ jobHistory: new FakeJobHistory(table), audit })];
  const { port } = await listen(t, routes);
  const asked = (dataset: string, method: string, kind: 'change' | 'admin-read' = 'change') =>
    audit.append([auditRow({ at: clock.now(), dataset, method, kind })], signal);
  async function attempted(dataset: string, outcome: AttemptOutcome, more: Partial<RecordedOutcome['record']> = {}) {
    await jobs.enqueue([request('import', dataset)], signal);
    const record = { attempt: 1, ms: 5, ...more, outcome };
    await complete(jobs, await claimOne(jobs, 'import'), { kind: 'done', record });
  }
  const read = async (path: string) => {
    const url = `http://127.0.0.1:${port}/admin/datasets/${path}`;
    const response = await fetch(url, { headers: { 'admin-token': ADMIN_TOKEN } });
    const text = await response.text();
    if (response.ok) t.strictSame(responseFaults(schemaOf(routes, 'readDatasetHistory', 200), text), []);
    return { status: response.status, body: JSON.parse(text) as Page };
  };
  return { clock, table, asked, attempted, read };
}

const words = ({ results }: Page): readonly string[] =>
  results.map(({ job, request }) => job?.outcome ?? (request as { method: string }).method);

t.test('an attempt and a request are shown as they were kept', async (t) => {
  const { asked, attempted, read } = await setup(t);
  await asked('set', 'PATCH');
  const call = {
    call: 'import-dataset',
    plugin: 'genelist',
    ms: 4,
    outcome: 'script-error',
    exitCode: 7,
    output: 'a\nb',
  };
  await attempted('set', 'failed', { message: 'exit code 7', calls: [call] });
  t.strictSame((await read('set/history')).body, {
    results: [
      {
        id: '1767355200000-0-1',
        at: '2026-01-02T12:00:00.000Z',
        request: {
          ...{
            actor: { kind: 'user', id: '42' },
            method: 'PATCH',
            route: '/datasets/:id',
            outcome: 'done',
            status: 204,
          },
          request: '6f1c2a58-2a35-4c1e-9f0e-5a6b7c8d0001',
        },
      },
      {
        id: '1767355200000-1-1',
        at: '2026-01-02T12:00:00.000Z',
        job: {
          ...{ lane: 'import', job: 1, eventId: 1, outcome: 'failed', attempt: 1, ms: 5, message: 'exit code 7' },
          process: { instance: 1, host: 'fake', pid: 1, started: '1970-01-01T00:00:00.000Z' },
          calls: [call],
        },
      },
    ],
  });
});

t.test('pages of either order hold each entry of both kinds once, also within a millisecond', async (t) => {
  const { clock, asked, attempted, read } = await setup(t);
  for (let round = 0; round < 4; round++) {
    await asked('set', `R${round}`);
    await attempted('set', 'retry', { attempt: round + 1 });
    if (round % 2 === 0) await asked('set', `R${round}b`);
    await asked('other', 'PUT');
    await asked('set', 'GET', 'admin-read');
    if (round > 0) await clock.advance(1);
  }
  const whole = await read('set/history');
  t.same(words(whole.body), ['R0', 'R0b', 'R1', 'retry', 'retry', 'R2', 'R2b', 'retry', 'R3', 'retry']);
  t.equal(whole.body.next, undefined);
  for (const order of ['oldest-first', 'newest-first'] as const)
    for (const limit of [1, 2, 3, 4, 9, 10, 11]) {
      const found: string[] = [];
      for (let after: string | undefined = ''; after !== undefined; ) {
        const { body } = await read(`set/history?order=${order}&limit=${limit}${after && `&after=${after}`}`);
        t.ok(body.results.length <= limit);
        found.push(...body.results.map(({ id }) => id));
        after = body.next;
      }
      const all = whole.body.results.map(({ id }) => id);
      t.same(found, order === 'oldest-first' ? all : all.toReversed(), `${order}, ${limit}`);
    }
});

t.test('pages that end by their bytes lose nothing', async (t) => {
  const { clock, asked, attempted, read } = await setup(t);
  const output = 'x'.repeat(200_000);
  for (let round = 0; round < 4; round++) {
    await attempted('set', 'retry', { calls: [{ call: 'import-dataset', ms: 1, outcome: 'error', output }] });
    await clock.advance(1);
    await asked('set', `R${round}`);
    await clock.advance(1);
  }
  const expected = ['retry', 'R0', 'retry', 'R1', 'retry', 'R2', 'retry', 'R3'];
  for (const order of ['oldest-first', 'newest-first'] as const) {
    const found: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const { body } = await read(`set/history?order=${order}${after && `&after=${after}`}`);
      t.ok(body.results.length < 8);
      found.push(...words(body));
      after = body.next;
    }
    t.same(found, order === 'oldest-first' ? expected : expected.toReversed());
  }
});

t.test('an operator reads it of a dataset that is gone; of an unknown one there is none', async (t) => {
  const { attempted, read } = await setup(t);
  await attempted('gone', 'done');
  t.equal((await read('gone/history')).status, 200);
  for (const path of ['absent/history', 'no%20id/history']) t.equal((await read(path)).status, 404, path);
  for (const [query, message] of [
    ['order=upwards', /'order' is 'upwards'.*oldest-first/],
    ['limit=0', /'limit'/],
    ['limit=1001', /'limit'/],
    ['after=7', /'after'/],
    ['after=1-2-3', /'after'/],
  ] as const) {
    const { status, body } = await read(`gone/history?${query}`);
    t.equal(status, 400, query);
    t.match(body, { message });
  }
});
