// Builds the OpenAPI 3.1 document of a front end from its routes, with the same schemas that check the requests.

import { API_VERSIONS, type ApiVersion, DEFAULT_API_VERSION } from '../../../engine/model/api-version.ts';
import { JSON_TYPE } from '../answers/json-text.ts';
import { Problem } from '../pipeline/errors.ts';
import {
  type Access,
  answer,
  type JsonSchema,
  type Route,
  type RouteParameter,
  type RouteResponse,
} from '../pipeline/route.ts';
import { Components } from './components.ts';
import { documented } from './keyed-route.ts';
import { tagOf, tagsOf } from './tags.ts';

export interface ApiInfo {
  readonly title: string;
  readonly version: string;
  /** Path prefix of all routes; empty for none. */
  readonly basePath: string;
  /** The version of requests that name none; 1.8.0 when absent. */
  readonly assumedApiVersion?: ApiVersion | undefined;
}

/** Requests to the running program and its responses, by operation id. */
export type Examples = Readonly<Record<string, { readonly request?: unknown; readonly response: unknown }>>;

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, unknown>> & { readonly title: string; readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object };
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

/** Describes who may call (http/kernel/pipeline/route.ts). */
const ACCESS_WORDS: Readonly<Record<Access, string>> = {
  open: 'Anybody may call.',
  user: 'Registered users may call.',
  'user-or-guest': 'Users and guests may call.',
  'user-or-admin': 'Users, operators and administrators may call.',
  'anyone-known': 'Users, guests, operators and administrators may call.',
  admin: 'Administrators and operators may call; observers where nothing is changed.',
};

const BEARER = { bearer: [] };
const AUTH_KEY = { authKey: [] };
const ADMIN = { adminToken: [] };
const SECURITY: Readonly<Record<Access, readonly object[]>> = {
  open: [],
  user: [BEARER, AUTH_KEY],
  'user-or-guest': [BEARER, AUTH_KEY],
  'user-or-admin': [BEARER, AUTH_KEY, ADMIN],
  'anyone-known': [BEARER, AUTH_KEY, ADMIN],
  admin: [ADMIN, BEARER, AUTH_KEY],
};

const SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token of the configured issuer' },
  authKey: {
    type: 'apiKey',
    in: 'header',
    name: 'Auth-Key',
    description: 'The same token, with or without `Bearer`; `Auth_Key` also works',
  },
  adminToken: { type: 'apiKey', in: 'header', name: 'Admin-Token', description: "The service's administrator token" },
} as const;

/** The schemes that one of the routes accepts. */
function schemesOf(routes: readonly Route[]): object {
  const used = new Set(routes.flatMap(({ access }) => SECURITY[access].flatMap((one) => Object.keys(one))));
  return Object.fromEntries(Object.entries(SCHEMES).filter(([name]) => used.has(name)));
}

/** A response that every route may give. */
const NOT_UNDERSTOOD = answer('A header or query parameter is not understood', Problem);

const versionHeader = (assumed: ApiVersion = DEFAULT_API_VERSION): Parameter => ({
  name: 'Api-Version',
  in: 'header',
  required: false,
  description:
    'Interface version: chooses field names, and fields that only the newer one has. Without it, installs that are ' +
    'queued are left out of status blocks',
  schema: { type: 'string', enum: API_VERSIONS, default: assumed },
});

export function openApi(
  routes: readonly Route[],
  { title, version, basePath, assumedApiVersion }: ApiInfo,
  examples: Examples = {},
): OpenApiDocument {
  const components = new Components();
  const operation = new Operations(components, versionHeader(assumedApiVersion), examples);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes.map(documented)) {
    const path = pathTemplate(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation.of(route) };
  }
  const document: OpenApiDocument = {
    openapi: '3.1.0',
    info: {
      title,
      version,
      description: 'Every response carries `X-Request-Id`. Errors have one form, the schema `Problem`.',
      contact: { name: 'The administrators of this service' },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    tags: tagsOf(routes.map(({ path }) => path)),
    paths,
    components: { schemas: components.schemas, securitySchemes: schemesOf(routes) },
  };
  // Removes everything from the schemas that is not JSON, such as symbols and functions.
  return JSON.parse(JSON.stringify(document)) as OpenApiDocument;
}

/** Converts `/datasets/:id/files` to `/datasets/{id}/files`. */
const pathTemplate = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');

class Operations {
  readonly #components: Components;
  readonly #version: Parameter;
  readonly #examples: Examples;

  constructor(components: Components, version: Parameter, examples: Examples) {
    this.#components = components;
    this.#version = version;
    this.#examples = examples;
  }

  of(route: Route): Operation {
    const { body } = route;
    const { request, response } = this.#examples[route.operationId] ?? {};
    const success = Object.keys(route.responses).find((code) => code.startsWith('2'));
    return {
      operationId: route.operationId,
      tags: [tagOf(route.path)],
      summary: route.summary,
      description: ACCESS_WORDS[route.access],
      security: SECURITY[route.access],
      parameters: [...parametersOf(route).map((one) => this.#parameter(one)), this.#version],
      ...(body
        ? { requestBody: { description: body.description, content: this.#content(body.content, request) } }
        : {}),
      responses: Object.fromEntries(
        Object.entries({ 400: NOT_UNDERSTOOD, ...route.responses }).map(([code, one]) => [
          code,
          this.#response(one, code === success ? response : undefined),
        ]),
      ),
    };
  }

  #parameter = (parameter: Parameter): Parameter => ({
    ...parameter,
    schema: this.#components.referenced(parameter.schema),
  });

  #response({ description, contentType, schema, headers, also }: RouteResponse, example: unknown): object {
    if (!schema && contentType === undefined) return { description };
    return {
      description,
      ...(headers ? { headers } : {}),
      content: this.#content({ [contentType ?? JSON_TYPE]: schema ?? {}, ...also }, example),
    };
  }

  /** @param example of the JSON body */
  #content = (content: Readonly<Record<string, JsonSchema>>, example: unknown): object =>
    Object.fromEntries(
      Object.entries(content).map(([type, schema]) => [
        type,
        {
          schema: this.#components.referenced(schema),
          ...(type === JSON_TYPE && example !== undefined ? { example } : {}),
        },
      ]),
    );
}

function parametersOf({ path, params = {}, query = {}, headers = {} }: Route): readonly Parameter[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const known: RouteParameter = params[name] ?? { description: name, schema: { type: 'string' } };
    return { name, in: 'path', required: true, ...known } as const;
  });
  const inQuery = Object.entries(query).map(
    ([name, parameter]) => ({ name, in: 'query', required: false, ...parameter }) as const,
  );
  const inHeader = Object.entries(headers).map(
    ([name, parameter]) => ({ name, in: 'header', required: false, ...parameter }) as const,
  );
  return [...inPath, ...inQuery, ...inHeader];
}
