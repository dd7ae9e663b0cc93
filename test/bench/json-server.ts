// Servers of one JSON document, each a program of its own: json-server.ts ours|node|fastify|tcp.
//   ours     GET /service-meta of the installer behind the product's own front end: request id, headers, metrics, log
//   node     bare node:http, the same document
//   fastify  with a schema of the document, as its documentation recommends
//   tcp      the answer of `node` as fixed bytes on a bare socket: what the machine gives

import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import fastify from 'fastify';
import { frontEnd, noUsers } from '../../bin/compose/front-end.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import { createLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { InstallTargets } from '../../http/installer/install-targets.ts';
import { ServiceMeta, serviceMetaRoute } from '../../http/installer/service-meta.ts';
import { AuditTrail } from '../../http/kernel/pipeline/audit-trail.ts';
import { HTTP_DEFAULTS } from './http-settings.ts';
import { listensOn } from './program.ts';

const META: ServiceMeta = {
  buildInfo: { name: 'longshore', version: '0.1.0', node: 'v26.10.0' },
  configuration: {
    api: { maxUploadSize: 10_737_418_240, userMaxStorageSize: 107_374_182_400 },
    daemons: { reconciler: { enabled: true, fullRunInterval: '6h', slimRunInterval: '5m', performDeletes: true } },
    installTargets: [
      { id: 'AlphaDB' as TargetId, name: 'Alpha' },
      { id: 'BetaDB' as TargetId, name: 'Beta' },
    ],
  },
  features: { supportedArchiveTypes: ['.zip', '.tar.gz', '.tgz'] },
};

async function ours(): Promise<number> {
  const { api, daemons, installTargets } = META.configuration;
  const route = serviceMetaRoute(
    {
      maxUploadBytes: api.maxUploadSize,
      userMaxStorageBytes: api.userMaxStorageSize,
      buildInfo: META.buildInfo,
      reconciler: () => daemons.reconciler,
    },
    new InstallTargets(installTargets.map(({ id, name }) => ({ id, name, enabled: true, category: 'other' }))),
  );
  const log = createLogger({ level: 'info', to: { file: '/dev/null' } });
  const auth = noUsers({ clock: systemClock, log });
  const options = { name: 'installer' as const, host: '127.0.0.1', port: 0, routes: [route], checks: [], auth };
  const metrics = new Metrics();
  const trail = new AuditTrail({ table: undefined, clock: systemClock, log, metrics });
  const parts = { clock: systemClock, log, metrics, ready: () => true, trail };
  const { spec, url } = await frontEnd({ http: HTTP_DEFAULTS }, options, parts);
  await spec.create().start(new AbortController().signal);
  return Number(new URL(url()).port);
}

function node(): Promise<number> {
  return listening(
    createServer((_request, response) => {
      const body = JSON.stringify(META);
      response.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    }),
  );
}

async function withFastify(): Promise<number> {
  const app = fastify({ logger: false });
  app.get('/service-meta', { schema: { response: { 200: ServiceMeta } } }, async () => META);
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

function tcp(): Promise<number> {
  const body = JSON.stringify(META);
  const answer = Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return listening(
    createTcpServer({ noDelay: true }, (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => socket.write(answer));
    }),
  );
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

const SERVERS: Readonly<Record<string, () => Promise<number>>> = { ours, node, fastify: withFastify, tcp };
const open = SERVERS[process.argv[2] ?? ''];
if (!open) throw new Error(`json-server.ts ${Object.keys(SERVERS).join('|')}`);
listensOn(await open());
