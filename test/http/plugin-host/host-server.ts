// A plugin host that listens, with real scripts.

import type { Test } from 'tap';
import { silentLogger } from '../../../engine/log.ts';
import { systemClock } from '../../../engine/time.ts';
import { httpMetrics } from '../../../http/http-metrics.ts';
import { opsRoutes } from '../../../http/ops.ts';
import { type PluginRoutesOptions, pluginRoutes } from '../../../http/plugin-host/routes.ts';
import { RequestPipeline } from '../../../http/request-pipeline.ts';
import type { Route } from '../../../http/route.ts';
import { HttpServer } from '../../../http/server.ts';
import { type HostSetup, setupHost } from './host-setup.ts';

export interface ServedHost extends HostSetup {
  readonly baseUrl: string;
  readonly routes: readonly Route[];
}

const BUILD = {
  gitTag: 'v1',
  gitCommit: 'abc',
  gitBranch: 'main',
  gitUrl: 'none',
  buildId: '1',
  buildNumber: '1',
  buildTime: '2024-01-01T00:00:00Z',
};

export interface ServeChanges {
  readonly routes?: Partial<PluginRoutesOptions>;
  readonly host?: Parameters<typeof setupHost>[1];
  readonly idleTimeoutMs?: number;
}

export async function serveHost(t: Test, changes: ServeChanges = {}): Promise<ServedHost> {
  const setup = await setupHost(t, changes.host);
  const { host, metrics } = setup;
  const log = silentLogger();
  const clock = systemClock;
  const checks = [{ name: 'workspace', probe: () => host.probe(), vital: true }];
  const routes = pluginRoutes(host, { maxPayloadBytes: 1_000_000, build: BUILD, ...changes.routes });
  const server = new HttpServer({
    name: 'plugin-host',
    clock,
    log,
    host: '127.0.0.1',
    port: 0,
    limits: {
      maxHeaderSize: 16_384,
      maxConnections: 100,
      headerTimeoutMs: 10_000,
      idleTimeoutMs: changes.idleTimeoutMs ?? 60_000,
      keepAliveTimeoutMs: 5_000,
    },
    pipeline: new RequestPipeline({
      routes,
      opsRoutes: opsRoutes({ version: '1', checks, ready: () => true, metrics, clock }),
      auth: { adminToken: undefined, verify: undefined, queryToken: false, remember: async () => undefined },
      cors: false,
      url: { trustProxy: false, basePath: '' },
      clock,
      log,
      metrics: httpMetrics(metrics, 'plugin-host'),
    }),
  });
  await server.start(new AbortController().signal);
  t.teardown(() => server.stop(clock.now() + 1_000));
  return { ...setup, routes, baseUrl: `http://127.0.0.1:${server.port}` };
}
