// GET /api and /api/openapi.json: the documentation of a front end, for people and for programs.

import { JSON_TYPE } from '../answers/json-text.ts';
import type { Route } from '../pipeline/route.ts';
import { SCHEMAS } from './components.ts';
import {
  type ApiInfo,
  type Examples,
  type OpenApiDocument,
  type Operation,
  openApi,
  type Parameter,
} from './openapi.ts';
import { membersOf, schemaWords, type WordedSchema } from './schema-node.ts';

const DOCUMENT_PATH = '/api/openapi.json';

/**
 * Returns the two routes. They are themselves part of the documentation.
 * @param service name in `examples.json`, which `npm run docs:examples` writes
 */
export function apiDocs(routes: readonly Route[], info: ApiInfo, service?: string): readonly Route[] {
  // Built at the first request, because many processes never get one.
  const content = cached(async () => {
    const document = openApi([...routes, ...docs], info, await examplesOf(service));
    return {
      document: Buffer.from(JSON.stringify(document)),
      page: Buffer.from(apiPage(document, `${info.basePath}${DOCUMENT_PATH}`)),
    };
  });
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
        context.text(200, 'text/html; charset=utf-8', (await content()).page);
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
      handler: async (context) => context.text(200, JSON_TYPE, (await content()).document),
    },
  ];
  return docs;
}

async function examplesOf(service: string | undefined): Promise<Examples> {
  if (service === undefined) return {};
  const { default: examples } = await import('./examples.json', { with: { type: 'json' } });
  return (examples as Readonly<Record<string, Examples>>)[service] ?? {};
}

function cached<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}

// The page: it loads nothing, has no scripts, and works offline.

/** The page may only show itself. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE = `
  :root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #57606a; --line: #d8dee4; --link: #0b5c8a }
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
    color: var(--ink); background: var(--paper); overflow-wrap: anywhere }
  a { color: var(--link) } p { margin: .2rem 0 } h1 { font-size: 1.6rem }
  h2, nav, code { font-family: ui-monospace, monospace } code { font-size: 13px }
  h2 { font-size: 1.05rem; margin: 0 0 .3rem } b { display: inline-block; min-width: 4.5rem; color: var(--link) }
  nav { margin: 1rem 0; font-size: 14px } nav a { display: block; color: inherit; text-decoration: none }
  nav a:hover, nav a:focus { text-decoration: underline }
  section { border-top: 1px solid var(--line); margin-top: 1.6rem; padding-top: 1.2rem }
  h3 { font-size: .8rem; text-transform: uppercase; letter-spacing: .04em; color: var(--soft); margin: .9rem 0 .1rem }
  dl { margin: 0; display: grid; grid-template-columns: minmax(4rem, max-content) 1fr; gap: .15rem 1rem }
  dd { margin: 0 } dt { font-family: ui-monospace, monospace; font-size: 13px; line-height: 1.7 }
  ul { margin: .1rem 0; padding-left: 1.2rem } summary { cursor: pointer } .soft { color: var(--soft) }
  @media (max-width: 40rem) { dl { grid-template-columns: 1fr } dd { padding-left: 1rem } }
  @media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9ea7b1; --line: #30363d;
    --link: #79c0ff } }`;

interface Media {
  readonly schema: WordedSchema;
}
interface Body {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
}

function apiPage({ info, paths, components }: OpenApiDocument, documentUrl: string): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const title = text(`${info.title} ${info.version}`);
  const links = operations.map(
    ({ path, method, operation }) => `<a href="#${text(operation.operationId)}"><b>${method}</b> ${text(path)}</a>`,
  );
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<section id="${name}" class="schema"><h2>${name}</h2><p>${wordsOf(schema)}</p>${memberList(schema)}</section>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>${STYLE}</style></head><body>
<h1>${title}</h1>
<p>Machine-readable: <a href="${text(documentUrl)}">OpenAPI 3.1</a>. Every answer carries <code>X-Request-Id</code>.
A star marks what is required.</p>
<nav>${links.join('\n')}</nav>
${operations.map(({ path, method, operation }) => section(path, method, operation)).join('\n')}
${schemas.join('\n')}
</body></html>
`;
}

function section(path: string, method: string, operation: Operation): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  return `<section id="${text(operationId)}"><h2><b>${method}</b> ${text(path)}</h2>
<p>${text(summary)}. <span class="soft">${text(description)}</span></p>
${parameters.length > 0 ? `<h3>Parameters</h3><dl>${parameters.map(parameterRow).join('\n')}</dl>` : ''}
${requestBody ? `<h3>Body</h3>${bodyText(requestBody)}` : ''}
<h3>Answers</h3><dl>${Object.entries(responses)
    .map(([status, response]) => responseRow(status, response as Body))
    .join('\n')}</dl></section>`;
}

const parameterRow = ({ name, in: place, required, description, schema }: Parameter): string =>
  `<dt>${text(name)}${required ? '*' : ''}</dt><dd>${text(description)}
<span class="soft">(${place}: ${wordsOf(schema)})</span></dd>`;

const responseRow = (status: string, { description = '', content = {} }: Body): string =>
  `<dt>${text(status)}</dt><dd>${text(description)} ${contentText(content)}</dd>`;

function bodyText(body: object): string {
  const { description = '', content = {} } = body as Body;
  return `<p>${text(description)}</p>${contentText(content)}`;
}

const contentText = (content: Readonly<Record<string, Media>>): string =>
  Object.entries(content)
    .map(([type, { schema }]) => {
      const about = `<code>${text(type)}</code> <span class="soft">${wordsOf(schema)}</span>`;
      if (membersOf(schema).length === 0) return about;
      return `<details><summary>${about}</summary>${memberList(schema)}</details>`;
    })
    .join('');

function memberList(schema: WordedSchema): string {
  const items = membersOf(schema).map(({ name, required, schema: member }) => {
    const about = member.description === undefined ? '' : `. ${text(member.description)}`;
    return `<li><code>${text(name)}</code>${required ? '*' : ''}
<span class="soft">${wordsOf(member)}${about}</span>${memberList(member)}</li>`;
  });
  return items.length === 0 ? '' : `<ul>${items.join('\n')}</ul>`;
}

/** The schema in words, with a link to each component that they name. */
function wordsOf(schema: WordedSchema): string {
  const words = text(schemaWords(schema));
  return words.replaceAll(COMPONENT_NAME, (name) => (refersTo(schema, name) ? `<a href="#${name}">${name}</a>` : name));
}

const COMPONENT_NAME = /\b[A-Z]\w+\b/g;

const refersTo = (schema: WordedSchema, name: string): boolean =>
  JSON.stringify(schema).includes(`"${SCHEMAS}${name}"`);

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const text = (raw: string): string => raw.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
