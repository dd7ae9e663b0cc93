// Where a proxy publishes the front ends: all under one path, or each under its own.

import t from 'tap';
import { fetch } from 'undici';
import { basePathOf, type FrontEndName, frontEnd } from '../../../bin/compose/front-end.ts';
import { ROOT_SCHEMA } from '../../../config/schema/root.ts';
import { compileCheck } from '../../../config/validate.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import type { Route } from '../../../http/kernel/pipeline/route.ts';
import { HTTP_DEFAULTS } from '../../bench/http-settings.ts';
import { changed, completeDocument } from '../../config/complete-document.ts';
import { patientGuesses, unreadTrail } from '../../http/http-app.ts';

const NAMES: readonly FrontEndName[] = ['installer', 'handler', 'report', 'access', 'pluginHost'];

/** Leads to where the caller finds it, as a 202 and a redirect do. */
const route: Route = {
  method: 'GET',
  path: '/thing',
  access: 'open',
  operationId: 'thing',
  summary: 'A thing',
  responses: { 202: { description: 'Made' } },
  handler: async (context) => context.empty(202, { location: `${context.publicUrl}/thing` }),
};

t.test('one path counts for all front ends, a section for those that it names', async (t) => {
  const each = { installer: '/data', report: '/reports/v1' };
  t.same(
    NAMES.map((name) => basePathOf('/all', name)),
    NAMES.map(() => '/all'),
  );
  t.same(
    NAMES.map((name) => basePathOf(each, name)),
    ['/data', '', '/reports/v1', '', ''],
  );
});

t.test('the configuration takes both forms, and refuses what is no path and no front end', async (t) => {
  const check = compileCheck(ROOT_SCHEMA);
  const document = await completeDocument('embedded-form');
  const faultsOf = (basePath: unknown) =>
    check(changed(document, 'containerCore.http.basePath', basePath), () => undefined);
  for (const good of ['', '/a', '/a/b-c', {}, { installer: '/a', handler: '', pluginHost: '/p' }])
    t.same(faultsOf(good), [], JSON.stringify(good));
  for (const bad of ['a', '/a/', '/a b', 7, null, ['/a'], { installer: 'a' }, { instaler: '/a' }])
    t.ok(faultsOf(bad).length > 0, JSON.stringify(bad));
});

t.test('each front end leads callers to its own path, and is found with it and without', async (t) => {
  const basePath = { installer: '/data', access: '/study-access' };
  for (const name of NAMES) {
    const front = await frontEnd(
      { http: { ...HTTP_DEFAULTS, basePath } },
      {
        name,
        host: '127.0.0.1',
        port: 0,
        routes: [route],
        checks: [],
        auth: {
          adminToken: undefined,
          verify: undefined,
          guesses: patientGuesses(),
          operators: false,
          queryToken: false,
          remember: async () => undefined,
        },
      },
      { clock: systemClock, log: silentLogger(), metrics: new Metrics(), ready: () => true, trail: unreadTrail() },
    );
    const server = front.spec.create();
    await server.start(new AbortController().signal);
    t.teardown(() => server.stop(systemClock.now() + 1_000));
    const own = basePathOf(basePath, name);
    const where = `${front.url()}${own}/thing`;
    for (const asked of new Set([`${front.url()}/thing`, where]))
      t.equal((await fetch(asked)).headers.get('location'), where, asked);
    const document = await (await fetch(`${front.url()}/api/openapi.json`)).json();
    t.match(document, { servers: [{ url: own === '' ? '/' : own }] });
    const foreign = own === '/data' ? '/study-access' : '/data';
    t.equal((await fetch(`${front.url()}${foreign}/thing`)).status, 404, `${name} is not at ${foreign}`);
  }
});
