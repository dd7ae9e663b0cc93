// The recent log of a dataset or a request, as the routes show it.

import t from 'tap';
import type { FoundLog, LogSubject } from '../../../engine/runtime/recent-log.ts';
import { logRoute } from '../../../http/installer/admin/logs.ts';
import { ADMIN_TOKEN, listen } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const FOUND: FoundLog = {
  records: [
    { level: 'warn', time: '2026-01-02T03:04:05.678Z', pid: 7, lane: 'import', dataset: 'abc', msg: 'job failed' },
  ],
  isCut: true,
  since: '2026-01-01T00:00:00.000Z',
};
const asked: (readonly [LogSubject, number])[] = [];
const routes = [
  logRoute({
    logs: {
      find: (subject, limit) => {
        asked.push([subject, limit]);
        return FOUND;
      },
    },
  }),
];
const { port } = await listen(t, routes);
const get = async (query: string) => {
  const response = await fetch(`http://127.0.0.1:${port}/admin/logs${query}`, {
    headers: { 'admin-token': ADMIN_TOKEN },
  });
  return { status: response.status, text: await response.text() };
};

t.test('shows message, time and level apart from the other fields', async (t) => {
  const { status, text } = await get('?dataset=abc');
  t.equal(status, 200);
  t.strictSame(responseFaults(schemaOf(routes, 'readLog', 200), text), []);
  t.strictSame(JSON.parse(text), {
    results: [
      {
        ...{ time: '2026-01-02T03:04:05.678Z', level: 'warn', message: 'job failed' },
        fields: { lane: 'import', dataset: 'abc' },
      },
    ],
    cut: true,
    since: FOUND.since,
  });
  t.equal((await get('?request=r-1&limit=1000')).status, 200);
  t.strictSame(asked.splice(0), [
    [{ dataset: 'abc' }, 200],
    [{ request: 'r-1' }, 1_000],
  ]);
});

for (const query of ['', '?dataset=abc&request=r-1', '?dataset=', '?dataset=abc&limit=1001', '?limit=5'])
  t.test(`'${query}' is refused`, async (t) => {
    t.equal((await get(query)).status, 400);
    t.strictSame(asked, [], 'nothing is looked for');
  });
