// Legal values that the operator should know about: settings without effect, insecure settings, values that are cut.

import { isDeepStrictEqual } from 'node:util';
import { parseAddress, parseAddressCsv } from './address.ts';
import { suggestKey } from './describe.ts';
import { Cursor, displayPath, isMap, type Path } from './path.ts';
import { branchOf, childOf, type SchemaNode } from './schema-node.ts';

export const MAILS_WAIT = 'mail is not configured: mails of the access service wait in the outbox';
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;

/**
 * @param asWritten the document before defaults were filled in
 * @param complete the document with every default
 */
export function warningsOf(schema: SchemaNode, asWritten: unknown, complete: unknown): readonly string[] {
  const root = new Cursor(complete);
  const kafka = root.at('installer', 'logBroker');
  return [
    ...walk(schema, asWritten, []),
    ...authentication(root),
    ...openDoors(root),
    ...unknownHandlerKeys(schema, root.at('handler')),
    ...openLogin(root.at('installer', 'ldap'), 'bindPassword'),
    ...(kafka.at('sasl', 'mechanism').text === 'PLAIN' ? openLogin(kafka, 'sasl.password') : []),
    ...sizes(new Cursor(asWritten), root),
    ...(root.at('access').present && !root.at('mail').present ? [MAILS_WAIT] : []),
    ...(kafka.at('consumers', 'autoOffsetReset').text === 'none'
      ? ['installer.logBroker.consumers.autoOffsetReset: none is taken as earliest, so that no event is skipped']
      : []),
  ];
}

/** Ignored settings that differ from their defaults, and disabled verification, anywhere in the document. */
function walk(schema: SchemaNode, value: unknown, path: Path): readonly string[] {
  const branch = branchOf(schema, value);
  if (!branch) return [];
  const own = schema['x-ignored'];
  if (own !== undefined && !isDeepStrictEqual(value, schema.default))
    return [`${displayPath(path)} has no effect: ${own}`];
  if (path.at(-1) === 'tlsOptions' && isMap(value) && value.verify === false)
    return [`${displayPath([...path, 'verify'])} is false: ANY certificate is accepted there`];
  const steps: readonly (string | number)[] = Array.isArray(value)
    ? [...value.keys()]
    : isMap(value)
      ? Object.keys(value)
      : [];
  return steps.flatMap((step) => {
    const child = childOf(schema, value, step);
    return child ? walk(child, (value as Record<string | number, unknown>)[step], [...path, step]) : [];
  });
}

function authentication(root: Cursor): readonly string[] {
  const core = root.at('containerCore');
  if (!core.present) return [];
  const oauth = core.at('authentication', 'oauth');
  if (!core.at('authentication').present)
    return ['containerCore.authentication is not set: every call of a user or an admin is refused'];
  if (!oauth.present) return ['containerCore.authentication.oauth is not set: every call of a user is refused'];
  const url = URL.parse(oauth.at('jwksUrl').text ?? '');
  return url?.protocol === 'http:' && !LOOPBACK.test(url.hostname)
    ? ['containerCore.authentication.oauth.jwksUrl is not https: whoever can change that answer can sign tokens']
    : [];
}

function openDoors(root: Cursor): readonly string[] {
  return ['handler', 'pluginHost'].flatMap((name) => {
    const section = root.at(name);
    const host = section.at('bindHost').text;
    if (host === undefined || section.at('token').present || LOOPBACK.test(host)) return [];
    return [`${name} listens on ${host} without a token: whoever reaches it can run its scripts`];
  });
}

/** A simple bind of LDAP, and PLAIN of Kafka, send the password as it is. */
function openLogin(section: Cursor, password: string): readonly string[] {
  const path = password.split('.');
  if (!section.at(...path).present || section.at('tls').value === true) return [];
  const { value } = section.at('servers');
  const servers =
    typeof value === 'string'
      ? parseAddressCsv(value)
      : section
          .at('servers')
          .items()
          .map(({ value }) => hostOf(value));
  if (servers?.every((server) => LOOPBACK.test(server?.host ?? ''))) return [];
  const at = displayPath(section.path);
  return [`${at}.${password} is sent unencrypted: set ${at}.tls`];
}

const hostOf = (server: unknown): { readonly host: string } | undefined =>
  typeof server === 'string' ? parseAddress(server) : isMap(server) ? { host: String(server.host) } : undefined;

function unknownHandlerKeys(schema: SchemaNode, handler: Cursor): readonly string[] {
  const known = Object.keys(schema.properties?.handler?.properties ?? {});
  return handler.entries().flatMap(([key]) => {
    const near = known.includes(key) ? undefined : suggestKey(key, known);
    return near === undefined ? [] : [`handler.${key} has no meaning here: did you mean ${near}?`];
  });
}

function sizes(asWritten: Cursor, root: Cursor): readonly string[] {
  const service = root.at('installer', 'restService');
  const max = service.at('maxUploadSize').number ?? Number.POSITIVE_INFINITY;
  const quota = service.at('userMaxStorageSize').number ?? Number.POSITIVE_INFINITY;
  const types = asWritten
    .at('installer', 'plugins')
    .entries()
    .flatMap(([, plugin]) => plugin.at('dataTypes').items());
  return [
    ...types
      .map((type) => type.at('maxFileSize'))
      .filter((size) => (size.number ?? 0) > max)
      .map((size) => `${displayPath(size.path)} is above restService.maxUploadSize: ${max} applies`),
    ...(max > quota ? ['installer.restService.maxUploadSize is above userMaxStorageSize, which applies first'] : []),
  ];
}
