// Lists without end: what is sent is made as it is read, and nothing is made for a reader who has gone.

import { once } from 'node:events';
import { request } from 'node:http';
import t from 'tap';
import type { CollectedReport, FailedReport } from '../../../engine/ports/report-jobs.ts';
import { idOf, requestOf } from '../../conformance/report-world.ts';
import { ADMIN } from '../http-app.ts';
import { reportApp, START } from './report-app.ts';

const NOTE = 'x'.repeat(10_000);
/** Items that may lie between a source and a reader who reads nothing: buffers of ours and of the system. */
const MOST_AHEAD = 1_500;

/** Without end; tells how many were made, and resolves when nobody wants more. */
function endless<Item>(make: (n: number) => Item) {
  const closed = Promise.withResolvers<void>();
  const state = { made: 0, closed: closed.promise };
  const items = async function* (): AsyncGenerator<Item> {
    try {
      for (;;) yield make(++state.made);
    } finally {
      closed.resolve();
    }
  };
  return { state, items };
}

const collected = (n: number): CollectedReport => ({
  ...{ id: idOf(n), queryId: requestOf(n).queryId, status: 'queued', meta: { description: NOTE } },
});
const failed = (n: number): FailedReport => ({
  ...requestOf(n),
  ...{ created: new Date(START), ended: new Date(START), failure: NOTE },
});

t.test('a reader who stops reading stops what is made, and one who goes ends it', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query());
  await app.complete();
  const [list, broken] = [endless(collected), endless(failed)];
  const files = endless((n) => ({ name: `report_${n}.${NOTE}`, size: n }));
  app.collections.list = list.items;
  app.jobs.failed = broken.items;
  app.jobs.files = files.items;
  for (const [path, source, headers] of [
    ['/jobs', list, { authorization: 'Bearer 1' }],
    [`/jobs/${id}/files`, files, { authorization: 'Bearer 1' }],
    ['/maintenance/broken-jobs', broken, { 'admin-token': ADMIN }],
  ] as const) {
    const asked = request({ port: app.port, path, headers });
    asked.end();
    const [response] = (await once(asked, 'response')) as [NodeJS.ReadableStream & { destroy(): void }];
    await once(response, 'readable');
    // Until the buffers are full: two looks in a row see the same.
    for (let before = -1; before !== source.state.made; ) {
      before = source.state.made;
      for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
    }
    t.ok(source.state.made < MOST_AHEAD, `${path}: ${source.state.made} were made for nobody`);
    response.destroy();
    await source.state.closed;
  }
});

t.test('notes that are changed at once by two are both kept', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query());
  for (let round = 1; round <= 10; round++) {
    const changes = [{ summary: `s${round}` }, { description: `d${round}` }];
    const answers = await Promise.all(changes.map((userMeta) => app.call('1', 'PATCH', `/jobs/${id}`, { userMeta })));
    t.strictSame(
      answers.map(({ status }) => status),
      [204, 204],
    );
    t.match((await app.call('1', 'GET', `/jobs/${id}`)).body, { userMeta: Object.assign({}, ...changes) });
  }
});

t.test('a job that is read and taken out at once is in the collection or not, and never broken', async (t) => {
  const app = await reportApp(t);
  const id = await app.create('1', app.query());
  for (let round = 0; round < 10; round++) {
    const [read, removed] = await Promise.all([
      app.call('1', 'GET', `/jobs/${id}`),
      app.call('1', 'DELETE', `/jobs/${id}`),
    ]);
    t.equal(read.status, 200);
    t.ok([204, 404].includes(removed.status));
    t.ok([0, 1].includes(((await app.call('1', 'GET', '/jobs')).body as unknown[]).length));
  }
});

t.test('a failed job that fifty ask for again at once runs once more', async (t) => {
  const app = await reportApp(t);
  const query = app.query();
  const id = await app.create('1', query);
  await app.fail();
  await app.clock.advance(60_000);
  const asked = await Promise.all(Array.from({ length: 50 }, () => app.create('1', query)));
  t.strictSame([...new Set(asked)], [id]);
  t.equal((await app.claim()).attempt, 2);
});
