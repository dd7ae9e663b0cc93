import t from 'tap';
import { Agent, fetch } from 'undici';
import { LOCALHOST_CERT, LOCALHOST_KEY } from '../../../fixtures/certificate.ts';
import { type AppOptions, httpApp, raw, route } from '../../http-app.ts';

const LOADS_NOTHING = "default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'";
const NAMES = ['x-content-type-options', 'referrer-policy', 'content-security-policy', 'strict-transport-security'];
const ROUTES = [
  route('/json', 'open', async (context) => context.json(200, 1)),
  route('/text', 'open', async (context) => context.text(200, 'text/plain', 'x')),
  route('/admin', 'admin', async (context) => context.json(200, 1)),
  route('/broken', 'open', async () => {
    throw new Error('broken');
  }),
];
const PATHS = ['/json', '/text', '/admin', '/broken', '/nowhere', '/health', '/metrics'];

async function sent(t: Parameters<typeof httpApp>[0], options: AppOptions) {
  const app = await httpApp(t, ROUTES, options);
  const dispatcher = new Agent({ connect: { ca: LOCALHOST_CERT } });
  t.teardown(() => dispatcher.close());
  const base = options.tls ? `https://localhost:${app.port}` : app.url;
  const all = PATHS.map(async (path) => {
    const { headers, body } = await fetch(base + path, { dispatcher });
    await body?.cancel();
    return NAMES.map((name) => headers.get(name)).join(', ');
  });
  return { app, said: new Set(await Promise.all(all)) };
}

t.test('every answer says what browsers may not do with it', async (t) => {
  const { app, said } = await sent(t, {});
  t.same([...said], [`nosniff, no-referrer, ${LOADS_NOTHING}; frame-ancestors 'none', `]);
  const refused = await raw(app.port, 'no request\r\n\r\n');
  t.match(refused, /^HTTP\/1\.1 400 .*nosniff.*no-referrer.*frame-ancestors 'none'/s);
});

t.test('pages of listed origins may show answers in a frame', async (t) => {
  const { said } = await sent(t, { cors: ['https://a.example', 'https://b.example'] });
  t.same([...said], [`nosniff, no-referrer, ${LOADS_NOTHING}; frame-ancestors https://a.example https://b.example, `]);
});

t.test('a listener of TLS tells browsers to come back over TLS alone', async (t) => {
  const { said } = await sent(t, { tls: { cert: LOCALHOST_CERT, key: LOCALHOST_KEY } });
  t.same([...said], [`nosniff, no-referrer, ${LOADS_NOTHING}; frame-ancestors 'none', max-age=31536000`]);
});

t.test('names below that of a listener are meant too where the configuration says so, and only with TLS', async (t) => {
  const tls = { cert: LOCALHOST_CERT, key: LOCALHOST_KEY };
  const { said } = await sent(t, { tls, subDomains: true });
  t.match([...said], [/max-age=31536000; includeSubDomains$/]);
  t.notMatch([...(await sent(t, { subDomains: true })).said].join(), /max-age|includeSubDomains/);
});
