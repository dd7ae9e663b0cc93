// A plugin host that listens, with real scripts.

import type { Test } from 'tap';
import type { Route } from '../../../http/kernel/pipeline/route.ts';
import { type PluginRoutesOptions, pluginRoutes } from '../../../http/plugin-host/routes.ts';
import { type AppOptions, httpApp } from '../http-app.ts';
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
  /** Of the front end, which also looks for room before it serves a call. */
  readonly app?: Pick<AppOptions, 'log' | 'room'>;
}

export async function serveHost(t: Test, changes: ServeChanges = {}): Promise<ServedHost> {
  const setup = await setupHost(t, changes.host);
  const { host, metrics } = setup;
  const checks = [{ name: 'workspace', probe: () => host.probe(), vital: true }];
  const routes = pluginRoutes(host, { maxPayloadBytes: 1_000_000, build: BUILD, ...changes.routes });
  const { url } = await httpApp(t, routes, {
    ...{ checks, metrics, url: { basePath: '' }, ...changes.app },
    auth: { adminToken: undefined, verify: undefined, queryToken: false },
    limits: { idleTimeoutMs: changes.idleTimeoutMs ?? 60_000 },
  });
  return { ...setup, routes, baseUrl: url };
}
