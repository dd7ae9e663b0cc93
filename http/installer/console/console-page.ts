// The page of the web console and its files. Everything comes from this server, so it works offline. Scripts and styles are
// files, so the policy allows neither inline.

import { accepts } from '../../kernel/answers/content-encoding.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { notFound, Problem } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, type RouteParameter } from '../../kernel/pipeline/route.ts';
import { type ConsoleFiles, consoleFiles } from './console-files.ts';

export interface ConsolePageOptions {
  readonly product: string;
  /** Of the installer; empty for none. */
  readonly basePath: string;
  /** Origins besides its own that the page may call. */
  readonly calls: (context: RequestContext) => readonly string[];
}

const FOREVER = 'public, max-age=31536000, immutable';
const NOT_BUILT = 'The web console is not built. Run `npm run build:console` in the checkout, then reload this page.\n';

/** What token issuers add to the address of the page; its script reads them. */
const FROM_ISSUER = [
  ...['code', 'state', 'iss', 'session_state', 'scope', 'authuser', 'prompt', 'hd'],
  ...['error', 'error_description', 'error_uri'],
];
const query: Readonly<Record<string, RouteParameter>> = Object.fromEntries(
  FROM_ISSUER.map((name) => [
    name,
    {
      description: 'Set by the token issuer when a person has signed in; the page reads it',
      schema: { type: 'string' },
    },
  ]),
);

/** Where the console is: the root, unless a proxy publishes the installer under a prefix. */
export const consolePath = (basePath: string): string => (basePath === '' ? '/' : '/console');

export function consolePageRoutes(options: ConsolePageOptions): readonly Route[] {
  const built = consoleFiles();
  return [
    {
      method: 'GET',
      audit: 'none',
      path: consolePath(options.basePath),
      access: 'open',
      operationId: 'getConsole',
      summary: 'Shows the web console',
      query,
      responses: {
        200: { description: 'A page', contentType: 'text/html' },
        503: { description: 'The console is not built', contentType: 'text/plain', schema: { type: 'string' } },
      },
      handler: async (context) => {
        const files = await built();
        context.response.setHeader('cache-control', 'no-cache');
        if (!files) return context.text(503, 'text/plain; charset=utf-8', NOT_BUILT);
        context.response.setHeader('content-security-policy', pagePolicy(options.calls(context)));
        context.text(200, 'text/html; charset=utf-8', pageText(files, options));
      },
    },
    {
      method: 'GET',
      audit: 'none',
      path: '/console/files/:name',
      access: 'open',
      operationId: 'getConsoleFile',
      summary: 'Reads a file of the web console',
      params: { name: { description: 'as the page names it', schema: { type: 'string' } } },
      responses: {
        200: { description: 'A script, a style sheet or an image', contentType: '*/*' },
        304: { description: 'Not modified: the caller has the current version' },
        404: answer('No such file', Problem),
      },
      handler: async (context) => sendFile(context, await built()),
    },
  ];
}

async function sendFile(context: RequestContext, built: ConsoleFiles | undefined): Promise<void> {
  const file = built?.files.get(context.param('name'));
  if (!file) throw notFound(`'${context.param('name')}' is not a file of the console`);
  const { response } = context;
  // The name contains a digest of the contents, so it is the tag as well.
  const etag = `"${context.param('name')}"`;
  response.setHeader('cache-control', FOREVER);
  response.setHeader('etag', etag);
  if (context.request.headers['if-none-match'] === etag) return context.empty(304);
  if (!accepts(context.request, 'br')) return context.text(200, file.type, await file.unpacked());
  response.setHeader('content-encoding', 'br');
  context.text(200, file.type, await file.packed());
}

const pagePolicy = (calls: readonly string[]): string =>
  [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
    ["connect-src 'self'", ...calls].join(' '),
    ...["object-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; ');

/** The id of the style sheet keeps react-aria from adding a style element of its own, which the policy refuses. */
function pageText({ script, style, icon }: ConsoleFiles, { product, basePath }: ConsolePageOptions): string {
  const at = (name: string): string => escaped(`${basePath}/console/files/${name}`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(product)}</title>
<link rel="icon" type="image/svg+xml" href="${at(icon)}">
<link rel="stylesheet" id="react-aria-pressable-style" href="${at(style)}">
<script type="module" src="${at(script)}"></script>
</head>
<body>
<noscript>The web console needs JavaScript. <a href="${escaped(basePath)}/api">The API</a> does not.</noscript>
<div id="console"></div>
</body>
</html>
`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (raw: string): string => raw.replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? character);
