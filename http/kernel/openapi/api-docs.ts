// GET /api and /api/openapi.json: what a front end serves, for people and for programs.

import { JSON_TYPE } from '../answers/json-type.ts';
import type { Route } from '../pipeline/route.ts';
import { apiPage, PAGE_POLICY } from './api-page.ts';
import { type ApiInfo, openApi } from './openapi.ts';

const DOCUMENT_PATH = '/api/openapi.json';

/** The two routes; both are part of what they describe. */
export function apiDocs(routes: readonly Route[], info: ApiInfo): readonly Route[] {
  let made: { readonly document: Buffer; readonly page: Buffer } | undefined;
  const content = (): { readonly document: Buffer; readonly page: Buffer } => {
    // At the first request: many processes are never asked.
    if (!made) {
      const document = openApi([...routes, ...docs], info);
      made = {
        document: Buffer.from(JSON.stringify(document)),
        page: Buffer.from(apiPage(document, `${info.basePath}${DOCUMENT_PATH}`)),
      };
    }
    return made;
  };
  const docs: readonly Route[] = [
    {
      method: 'GET',
      audit: 'none',
      path: '/api',
      access: 'open',
      operationId: 'getApiPage',
      summary: 'This documentation',
      responses: { 200: { description: 'A page', contentType: 'text/html' } },
      handler: async (context) => {
        context.response.setHeader('content-security-policy', PAGE_POLICY);
        context.text(200, 'text/html; charset=utf-8', content().page);
      },
    },
    {
      method: 'GET',
      audit: 'none',
      path: DOCUMENT_PATH,
      access: 'open',
      operationId: 'getOpenApi',
      summary: 'This documentation as an OpenAPI 3.1 document',
      responses: { 200: { description: 'An OpenAPI document', schema: { type: 'object' } } },
      handler: async (context) => context.text(200, JSON_TYPE, content().document),
    },
  ];
  return docs;
}
