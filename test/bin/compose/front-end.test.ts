import { join } from 'node:path';
import t from 'tap';
import { Agent, fetch } from 'undici';
import { LOCALHOST_CERT, LOCALHOST_KEY } from '../../fixtures/certificate.ts';
import { runningFrontEnd } from './running-front-end.ts';

t.test('a listener of TLS speaks for the names below its own where the configuration says so', async (t) => {
  const dir = t.testdir({ 'cert.pem': LOCALHOST_CERT, 'key.pem': LOCALHOST_KEY });
  const dispatcher = new Agent({ connect: { ca: LOCALHOST_CERT, servername: 'localhost' } });
  t.teardown(() => dispatcher.close());
  for (const includeSubDomains of [true, false]) {
    const tls = { certFile: join(dir, 'cert.pem'), keyFile: join(dir, 'key.pem'), includeSubDomains };
    const url = await runningFrontEnd(t, { tls });
    const { headers, body } = await fetch(`${url}/ready`, { dispatcher });
    await body?.cancel();
    const said = includeSubDomains ? 'max-age=31536000; includeSubDomains' : 'max-age=31536000';
    t.equal(headers.get('strict-transport-security'), said);
  }
});
