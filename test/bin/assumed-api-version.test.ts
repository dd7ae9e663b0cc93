// The interface version that the configuration assumes for requests that name none.

import t from 'tap';
import { fetch } from 'undici';
import { frontEnd } from '../../bin/front-end.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { compileCheck } from '../../config/validate.ts';
import { silentLogger } from '../../engine/log.ts';
import { Metrics } from '../../engine/metrics.ts';
import { API_VERSIONS } from '../../engine/model/api-version.ts';
import { systemClock } from '../../engine/time.ts';
import { HTTP_DEFAULTS } from '../bench/http-settings.ts';
import { changed, completeDocument } from '../config/complete-document.ts';
import { patientGuesses, unreadTrail } from '../http/http-app.ts';

t.test('the configuration takes each version there is, and refuses others', async (t) => {
  const check = compileCheck(ROOT_SCHEMA);
  const document = await completeDocument('embedded-form');
  const faultsOf = (version: unknown) =>
    check(changed(document, 'containerCore.http.assumedApiVersion', version), () => undefined);
  for (const good of API_VERSIONS) t.same(faultsOf(good), [], good);
  for (const bad of ['1.6.0', '1.7', 1.7, '', null]) t.ok(faultsOf(bad).length > 0, JSON.stringify(bad));
});

t.test('a front end takes the version from the configuration, and its documentation says so', async (t) => {
  for (const assumedApiVersion of API_VERSIONS) {
    const front = await frontEnd(
      { http: { ...HTTP_DEFAULTS, assumedApiVersion } },
      {
        name: 'installer',
        host: '127.0.0.1',
        port: 0,
        routes: [],
        checks: [],
        auth: {
          ...{ adminToken: undefined, guesses: patientGuesses(), verify: undefined, operators: false },
          ...{ queryToken: false, remember: async () => undefined },
        },
      },
      { clock: systemClock, log: silentLogger(), metrics: new Metrics(), ready: () => true, trail: unreadTrail() },
    );
    const server = front.spec.create();
    await server.start(new AbortController().signal);
    t.teardown(() => server.stop(systemClock.now() + 1_000));
    const response = await fetch(`${front.url()}/api/openapi.json`);
    t.equal(response.headers.get('api-version'), assumedApiVersion);
    t.match(await response.text(), `"default":"${assumedApiVersion}"`);
  }
});
