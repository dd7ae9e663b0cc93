// The documentation of a front end as one HTML page: nothing to load, no script, readable without a network.

import type { OpenApiDocument, Operation, Parameter } from './openapi.ts';

/** What the page may do: show itself. */
export const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE = `
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b1f24 }
  h1 { font-size: 1.6rem } h2 { font-size: 1.05rem; margin: 2.2rem 0 .3rem; font-family: ui-monospace, monospace }
  h2 b { display: inline-block; min-width: 4.5rem; color: #0b5c8a } p { margin: .2rem 0 }
  nav a { display: block; font-family: ui-monospace, monospace; color: inherit; text-decoration: none }
  nav a:hover { text-decoration: underline } table { border-collapse: collapse; margin: .5rem 0; width: 100% }
  th, td { text-align: left; vertical-align: top; border-top: 1px solid #d8dee4; padding: .25rem .6rem .25rem 0 }
  code, pre { font: 13px/1.45 ui-monospace, monospace } pre { background: #f6f8fa; padding: .6rem; overflow: auto }
  summary { cursor: pointer } .who { color: #57606a }
  @media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 } pre { background: #161b22 }
    h2 b { color: #79c0ff } th, td { border-color: #30363d } .who { color: #8d96a0 } }`;

export function apiPage({ info, paths }: OpenApiDocument, documentUrl: string): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const title = text(`${info.title} ${info.version}`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>${STYLE}</style></head><body>
<h1>${title}</h1>
<p>Machine-readable: <a href="${text(documentUrl)}">OpenAPI 3.1</a>. Errors are JSON with <code>status</code> and
<code>message</code>; every answer carries <code>X-Request-Id</code>.</p>
<nav>${operations.map(({ path, method, operation }) => `<a href="#${text(operation.operationId)}">${method} ${text(path)}</a>`).join('\n')}</nav>
${operations.map(({ path, method, operation }) => section(path, method, operation)).join('\n')}
</body></html>
`;
}

function section(path: string, method: string, operation: Operation): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  return `<section id="${text(operationId)}"><h2><b>${method}</b> ${text(path)}</h2>
<p>${text(summary)} <span class="who">${text(description)}</span></p>
${parameters.length > 0 ? parameterTable(parameters) : ''}
${requestBody ? `<details><summary>Request body</summary>${code(requestBody)}</details>` : ''}
<table><tr><th>Code</th><th>Answer</th></tr>
${Object.entries(responses).map(responseRow).join('\n')}</table></section>`;
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(
    ({ name, in: place, required, description, schema }) =>
      `<tr><td><code>${text(name)}</code></td><td>${place}${required ? ', required' : ''}</td>
<td>${text(description)}</td><td><code>${text(JSON.stringify(schema))}</code></td></tr>`,
  );
  return `<table><tr><th>Parameter</th><th>In</th><th>Meaning</th><th>Values</th></tr>${rows.join('\n')}</table>`;
}

function responseRow([status, response]: [string, object]): string {
  const { description, content } = response as { description: string; content?: Record<string, { schema: object }> };
  const bodies = Object.entries(content ?? {}).map(([type, { schema }]) =>
    Object.keys(schema).length === 0
      ? ` <code>${text(type)}</code>`
      : `<details><summary><code>${text(type)}</code></summary>${code(schema)}</details>`,
  );
  return `<tr><td>${text(status)}</td><td>${text(description)}${bodies.join('')}</td></tr>`;
}

const code = (value: object): string => `<pre>${text(JSON.stringify(value, null, 2))}</pre>`;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const text = (raw: string): string => raw.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
