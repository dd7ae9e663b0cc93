import t from 'tap';
import { bySocket } from '../../../bin/compose/embedded-service.ts';
import type { Configuration } from '../../../config/configuration.ts';

const EMBEDDED = { host: '127.0.0.1', port: 5433 };
const OTHER = { host: 'db.example.org', port: 5433 };
const SOCKET = { host: '/data/postgres.socket', port: 5433 };

/** Two targets: one on the embedded server, one elsewhere. */
const configuration = {
  installer: {
    cacheDb: { server: EMBEDDED, tls: false },
    installTargets: [
      { controlDb: { kind: 'direct', server: EMBEDDED }, dataDb: { kind: 'direct', server: EMBEDDED } },
      { controlDb: { kind: 'direct', server: OTHER }, dataDb: { kind: 'lookup', lookupCn: 'sites' } },
      { controlDb: { kind: 'lookup', lookupCn: 'sites' }, dataDb: { kind: 'direct', server: OTHER } },
    ],
  },
  report: { db: { server: OTHER } },
  access: { db: { server: EMBEDDED } },
} as unknown as Configuration;

t.test('our own databases on the embedded server are reached by its socket', (t) => {
  const { installer, report, access } = bySocket(configuration, { port: 5433, socketDir: SOCKET.host });
  t.match(installer.cacheDb, { server: SOCKET });
  t.match(installer.installTargets, [
    { controlDb: { server: SOCKET }, dataDb: { server: EMBEDDED } },
    { controlDb: { server: OTHER }, dataDb: { lookupCn: 'sites' } },
    { controlDb: { lookupCn: 'sites' }, dataDb: { server: OTHER } },
  ]);
  t.match(report, { db: { server: OTHER } });
  t.match(access, { db: { server: SOCKET } });
  t.end();
});

t.test('a connection with TLS stays a TCP connection, and so does everything without a socket', (t) => {
  const { installer } = configuration;
  const encrypted = {
    ...configuration,
    installer: { ...installer, cacheDb: { ...installer.cacheDb, tls: true } },
  };
  t.match(bySocket(encrypted, { port: 5433, socketDir: SOCKET.host }).installer.cacheDb, { server: EMBEDDED });
  t.equal(bySocket(configuration, { port: 5433, socketDir: undefined }), configuration);
  t.end();
});
