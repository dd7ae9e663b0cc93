import { join } from 'node:path';
import t from 'tap';
import { Agent, fetch } from 'undici';
import { frontEnd } from '../../bin/front-end.ts';
import { silentLogger } from '../../engine/log.ts';
import { Metrics } from '../../engine/metrics.ts';
import { systemClock } from '../../engine/time.ts';
import { HTTP_DEFAULTS } from '../bench/http-settings.ts';
import { LOCALHOST_CERT, LOCALHOST_KEY } from '../fixtures/certificate.ts';
import { patientGuesses, unreadTrail } from '../http/http-app.ts';

t.test('a listener of TLS speaks for the names below its own where the configuration says so', async (t) => {
  const dir = t.testdir({ 'cert.pem': LOCALHOST_CERT, 'key.pem': LOCALHOST_KEY });
  const dispatcher = new Agent({ connect: { ca: LOCALHOST_CERT, servername: 'localhost' } });
  t.teardown(() => dispatcher.close());
  for (const includeSubDomains of [true, false]) {
    const tls = { certFile: join(dir, 'cert.pem'), keyFile: join(dir, 'key.pem'), includeSubDomains };
    const front = await frontEnd(
      { http: { ...HTTP_DEFAULTS, tls } },
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
    const { headers, body } = await fetch(`${front.url()}/ready`, { dispatcher });
    await body?.cancel();
    const said = includeSubDomains ? 'max-age=31536000; includeSubDomains' : 'max-age=31536000';
    t.equal(headers.get('strict-transport-security'), said);
  }
});
