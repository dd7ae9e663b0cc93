// Forms: texts whose meaning JSON Schema cannot express. Each form describes what is allowed, checks it exactly and converts it
// into the value that the program uses. Units, hosts and paths are parsed here and nowhere else.

import { isAbsolute, resolve } from 'node:path';
import { parseDuration } from '../engine/runtime/duration.ts';
import { type Address, isCidr, parseAddress, parseAddressCsv, parseBindHost, parseHost } from './address.ts';
import { isMap } from './path.ts';
import { branchOf, childOf, type SchemaNode } from './schema-node.ts';

interface FormContext {
  /** Folder of the configuration file; relative paths start there. */
  readonly dir: string;
  readonly schema: SchemaNode;
}

interface Form {
  /** Absent where the schema's bounds describe it. */
  readonly allowed?: string;
  accepts(value: unknown): boolean;
  /** The values inside it are resolved already. */
  resolve(value: unknown, context: FormContext): unknown;
}

export type FormName =
  | 'duration'
  | 'positive-duration'
  | 'size'
  | 'address'
  | 'host'
  | 'addresses'
  | 'bind-host'
  | 'cidr'
  | 'origin'
  | 'http-url'
  | 'path'
  | 'file'
  | 'uri-path'
  | 'program'
  | 'search-path'
  | 'version'
  | 'type-name'
  | 'target-types';

const asIs = (value: unknown): unknown => value;
/** The schema reports values of other types. */
const whenText =
  (accepts: (text: string) => boolean) =>
  (value: unknown): boolean =>
    typeof value !== 'string' || accepts(value);

const DURATION = "a duration with units in descending order, such as '90s', '1h 30m', '5 minutes' or 'PT1H30M'";
/** One rule for all keys: the working directory of the process does not matter. */
const inDir = (value: unknown, { dir }: FormContext): string => resolve(dir, String(value));
/** A bare name of a program is no path, but is looked up on PATH. */
const inDirUnlessBare = (path: string, { dir }: FormContext): string =>
  path.includes('/') && !isAbsolute(path) ? resolve(dir, path) : path;

export const FORMS: Readonly<Record<FormName, Form>> = {
  duration: {
    allowed: DURATION,
    accepts: whenText((text) => parseDuration(text) !== undefined),
    resolve: (value) => parseDuration(String(value)),
  },
  'positive-duration': {
    allowed: `${DURATION}; longer than 0`,
    accepts: whenText((text) => (parseDuration(text) ?? 0) > 0),
    resolve: (value) => parseDuration(String(value)),
  },
  // Sizes that are text have become numbers before.
  size: { accepts: (value) => typeof value !== 'string', resolve: asIs },
  address: {
    accepts: whenText((text) => parseAddress(text) !== undefined),
    resolve: (value, { schema }) => {
      const given = typeof value === 'string' ? parseAddress(value) : value;
      return schema['x-port'] === undefined ? given : { port: schema['x-port'], ...(given as Address) };
    },
  },
  host: {
    allowed:
      'a host name (letters, digits, dots, dashes; labels up to 63, 253 in all) or an IP address, IPv6 in brackets',
    accepts: whenText((text) => parseHost(text) !== undefined),
    resolve: (value) => parseHost(String(value)),
  },
  addresses: {
    accepts: whenText((text) => parseAddressCsv(text) !== undefined),
    resolve: (value) => (typeof value === 'string' ? parseAddressCsv(value) : value),
  },
  'bind-host': {
    allowed: 'a host name or an IP address to listen on, such as 127.0.0.1, 0.0.0.0 or ::',
    accepts: whenText((text) => parseBindHost(text) !== undefined),
    resolve: (value) => parseBindHost(String(value)),
  },
  cidr: { allowed: 'an IP range such as 10.0.0.0/8 or fd00::/8', accepts: whenText(isCidr), resolve: asIs },
  origin: {
    allowed: 'an origin: http(s)://host[:port] without a path',
    accepts: whenText((text) => httpUrl(text)?.origin === text),
    resolve: asIs,
  },
  'http-url': {
    allowed: 'an http(s) URL without user name and password',
    accepts: whenText((text) => {
      const url = httpUrl(text);
      return url !== undefined && url.username === '' && url.password === '';
    }),
    resolve: asIs,
  },
  path: { allowed: 'a path', accepts: whenText(isPath), resolve: inDir },
  file: { allowed: 'the path of a readable file', accepts: whenText(isPath), resolve: inDir },
  'uri-path': {
    allowed: 'a path written as a URI reference (blanks as %20)',
    accepts: whenText((text) => isPath(decoded(text) ?? '')),
    resolve: (value, context) => inDir(decoded(String(value)) ?? '', context),
  },
  program: {
    allowed:
      'one executable: a name on PATH or a path; arguments go into `arguments`, a shell is written as /bin/sh -c',
    accepts: whenText(isPath),
    resolve: (value, context) => inDirUnlessBare(String(value), context),
  },
  'search-path': {
    allowed: 'paths separated by colons',
    accepts: whenText(isPath),
    resolve: (value, { dir }) =>
      String(value)
        .split(':')
        .filter((part) => part !== '')
        .map((part) => resolve(dir, part))
        .join(':'),
  },
  version: {
    accepts: () => true,
    resolve: String,
  },
  'type-name': {
    accepts: () => true,
    resolve: (value) => String(value).toLowerCase(),
  },
  'target-types': {
    accepts: () => true,
    resolve: (value) => ((value as readonly unknown[])[0] === '*' ? 'any' : value),
  },
};

function isPath(text: string): boolean {
  return text !== '' && !text.includes('\0');
}

function httpUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // The percent sign does not start a UTF-8 character.
    return undefined;
  }
}

/**
 * Converts the checked document into what the program uses: resolves every form, and puts durations under keys ending in `Ms`.
 * @param dir folder of the configuration file, where relative paths start
 */
export function resolveForms(schema: SchemaNode, value: unknown, dir: string): unknown {
  const branch = branchOf(schema, value) ?? schema;
  let result = value;
  if (Array.isArray(value)) result = value.map((item) => (branch.items ? resolveForms(branch.items, item, dir) : item));
  else if (isMap(value)) result = resolveMap(branch, value, dir);
  const form = schema['x-form'];
  return form === undefined ? result : FORMS[form].resolve(result, { dir, schema });
}

function resolveMap(schema: SchemaNode, value: Record<string, unknown>, dir: string): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const child = childOf(schema, value, key);
    if (!child) result[key] = item;
    else result[isDuration(child) ? `${key}Ms` : key] = resolveForms(child, item, dir);
  }
  return result;
}

const isDuration = (schema: SchemaNode): boolean =>
  schema['x-form'] === 'duration' || schema['x-form'] === 'positive-duration';
