// GET /api and /api/openapi.json: the documentation of a front end, for people and for programs.

import { JSON_TYPE } from '../answers/json-text.ts';
import type { Route } from '../pipeline/route.ts';
import { apiPage } from './api-page.ts';
import { cached } from './cached.ts';
import { type ApiInfo, type Examples, openApi } from './openapi.ts';

const DOCUMENT_PATH = '/api/openapi.json';

/**
 * Returns the routes of the documentation. They are themselves part of it.
 * @param service name in `examples.json`, which `npm run docs:examples` writes
 */
export function apiDocs(routes: readonly Route[], info: ApiInfo, service?: string): readonly Route[] {
  // Built at the first request, because many processes never get one.
  const document = cached(async () =>
    Buffer.from(JSON.stringify(openApi([...routes, ...docs], info, await examplesOf(service)))),
  );
  const docs: readonly Route[] = [
    ...apiPage(`${info.title} ${info.version}`, info.basePath, DOCUMENT_PATH),
    {
      method: 'GET',
      audit: 'none',
      path: DOCUMENT_PATH,
      access: 'open',
      operationId: 'getOpenApi',
      summary: 'This documentation as an OpenAPI 3.1 document',
      responses: { 200: { description: 'An OpenAPI document', schema: { type: 'object' } } },
      handler: async (context) => context.text(200, JSON_TYPE, await document()),
    },
  ];
  return docs;
}

async function examplesOf(service: string | undefined): Promise<Examples> {
  if (service === undefined) return {};
  const { default: examples } = await import('./examples.json', { with: { type: 'json' } });
  return (examples as Readonly<Record<string, Examples>>)[service] ?? {};
}
