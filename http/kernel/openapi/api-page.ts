// The page at /api, on which people read the OpenAPI document and try its calls. Scalar (scalar/) draws it. Everything comes from
// this server, so the page works offline, and it can send requests only to this server.

import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { programBytes } from '../../../engine/runtime/program-files.ts';
import { accepts } from '../answers/content-encoding.ts';
import type { RequestContext } from '../pipeline/context.ts';
import { notFound } from '../pipeline/errors.ts';
import type { Route } from '../pipeline/route.ts';
import { cached } from './cached.ts';
import scalar from './scalar/package.json' with { type: 'json' };

/** The version is part of the name, so browsers may keep the file. */
const SCALAR = `scalar-${scalar.version}.js`;
const START = 'start.js';

/** Scalar sets style attributes; all else is as strict as it can be. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The routes of the page and of its scripts. */
export function apiPage(title: string, basePath: string, documentPath: string): readonly Route[] {
  const page = pageText(title, basePath, documentPath);
  return [
    {
      method: 'GET',
      audit: 'none',
      path: '/api',
      access: 'open',
      operationId: 'getApiPage',
      summary: 'Shows this documentation, and tries its calls',
      responses: { 200: { description: 'A page', contentType: 'text/html' } },
      handler: async (context) => {
        context.response.setHeader('content-security-policy', PAGE_POLICY);
        context.text(200, 'text/html; charset=utf-8', page);
      },
    },
    {
      method: 'GET',
      audit: 'none',
      path: '/api/scripts/:name',
      access: 'open',
      operationId: 'getApiScript',
      summary: 'Reads a script of the page `/api`',
      params: { name: { description: 'as the page names it', schema: { type: 'string' } } },
      responses: {
        200: { description: 'A script', contentType: 'text/javascript' },
        404: { description: 'no script' },
      },
      handler: sendScript,
    },
  ];
}

async function sendScript(context: RequestContext): Promise<void> {
  const { response } = context;
  if (context.param('name') === START) {
    response.setHeader('cache-control', 'no-cache');
    return context.text(200, SCRIPT_TYPE, START_SCRIPT);
  }
  if (context.param('name') !== SCALAR) throw notFound(`'${context.param('name')}' is not a script of this page`);
  response.setHeader('cache-control', 'public, max-age=31536000, immutable');
  if (!accepts(context.request, 'br')) return context.text(200, SCRIPT_TYPE, await unpacked());
  response.setHeader('content-encoding', 'br');
  context.text(200, SCRIPT_TYPE, await packed());
}

// All responses share these bytes (1 and 5 MB): anybody may ask, and read slowly, on many connections.
const packed = cached(() => programBytes('http/kernel/openapi/scalar/scalar.js.br'));
const unpacked = cached(async () => promisify(brotliDecompress)(await packed()));

const SCRIPT_TYPE = 'text/javascript; charset=utf-8';

/** Scalar's own colours have less contrast than WCAG 2.2 asks for. */
const CONTRASTS =
  '.light-mode { --scalar-color-3: #626a73; --scalar-color-green: #0a6b45; --scalar-color-orange: #9a4a00;' +
  ' --scalar-color-yellow: #725600; --scalar-color-red: #c0182b } .dark-mode { --scalar-color-3: #a8a8a8; --scalar-color-red: #ff8a80 }';

/** Without fonts and services of others, and with nothing kept in the browser: a token lasts as long as the page. */
const START_SCRIPT = `Scalar.createApiReference('#reference', {
  url: document.getElementById('reference').dataset.document,
  withDefaultFonts: false,
  telemetry: false,
  persistAuth: false,
  authentication: { preferredSecurityScheme: 'bearer' },
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: 'json',
  operationTitleSource: 'path',
  customCss: '${CONTRASTS}',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
});
`;

const pageText = (title: string, basePath: string, documentPath: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript>This page needs JavaScript. <a href="${text(basePath + documentPath)}">The OpenAPI document</a> does not.</noscript>
<div id="reference" data-document="${text(basePath + documentPath)}"></div>
<script src="${text(basePath)}/api/scripts/${SCALAR}"></script>
<script src="${text(basePath)}/api/scripts/${START}"></script>
</body>
</html>
`;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const text = (raw: string): string => raw.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
