// What the documents say of refused requests, for all routes.

import t from 'tap';
import { SERVICES } from './services.ts';

/** Answers 400, as its contract has it. */
const OTHERWISE = ['putJob'];

t.test('a route that takes JSON says that it refuses other types', async (t) => {
  const silent: string[] = [];
  for (const service of Object.values(SERVICES))
    for (const { body, operationId, responses } of (await service(t)).routes)
      if ('application/json' in (body?.content ?? {}) && !(415 in responses)) silent.push(operationId);
  t.strictSame(silent, OTHERWISE);
});
