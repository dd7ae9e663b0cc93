// The OpenAPI documents of the services, as the program serves them: with the operators' routes, and examples.

import type { Test } from 'tap';
import { systemClock } from '../../engine/runtime/time.ts';
import { apiDocs } from '../../http/kernel/openapi/api-docs.ts';
import examples from '../../http/kernel/openapi/examples.json' with { type: 'json' };
import { type Examples, type OpenApiDocument, openApi } from '../../http/kernel/openapi/openapi.ts';
import { opsRoutes } from '../../http/kernel/pipeline/ops.ts';
import { SERVICES } from './services.ts';

/** Services by the name of their front end, which is also that of the document's file. */
export const FRONT_ENDS = {
  installer: 'installer',
  handler: 'handler service',
  pluginHost: 'plugin host',
  access: 'access service',
  report: 'report service',
} as const;
export type FrontEnd = keyof typeof FRONT_ENDS;

const ops = opsRoutes({
  threads: () => 1,
  version: '1',
  checks: [],
  unready: async () => undefined,
  metrics: { text: async () => '', contentType: 'text/plain' },
  clock: systemClock,
});

export async function documentOf(t: Test, name: FrontEnd): Promise<OpenApiDocument> {
  const { routes: own } = (await SERVICES[FRONT_ENDS[name]]?.(t)) ?? { routes: [] };
  const routes = [...ops.filter(({ path }) => !own.some((route) => route.path === path)), ...own];
  const info = { title: `Longshore ${name}`, version: '1', basePath: '' };
  return openApi([...routes, ...apiDocs(routes, info)], info, (examples as Readonly<Record<string, Examples>>)[name]);
}
