// The services with all their routes, each on the adapters that its own tests use.

import type { Test } from 'tap';
import type { Route } from '../../http/kernel/pipeline/route.ts';
import { cacheDatabase } from '../support/cache-database.ts';
import { accessApp } from './access/access-app.ts';
import { handlerApp } from './handler/handler-app.ts';
import { installerApp } from './installer/installer-app.ts';
import { serveHost } from './plugin-host/host-server.ts';
import { reportApp } from './report/report-app.ts';

export type Service = (t: Test) => Promise<{ readonly routes: readonly Route[] }>;

/** By name, as messages have it. */
export const SERVICES: Readonly<Record<string, Service>> = {
  installer: async (t) => installerApp(t, await cacheDatabase(t)),
  'handler service': handlerApp,
  'plugin host': serveHost,
  'access service': (t) => accessApp(t),
  'report service': (t) => reportApp(t),
};
