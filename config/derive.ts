// Defaults that depend on other keys (`x-derived` in the schema). Runs on a document without faults, after the fixed defaults,
// and changes it in place. Versions become text here: YAML reads 1.0 as the number 1, but a version is the text in the file, so
// 1.0 and '1.0' are one version and 1 is another.

import { type Address, parseAddress, parseAddressCsv } from './address.ts';
import { Cursor, isMap, valueAt } from './path.ts';
import { AMQP_PORTS } from './schema/brokers.ts';
import { platformOf, TARGET_DB_PORTS } from './schema/database.ts';
import { LDAP_PORTS, S3_PORTS } from './schema/installer.ts';
import { SMTP_PORTS } from './schema/root.ts';
import type { Written } from './validate.ts';

/** A version as it is written in the file; undefined for anything but text and numbers. */
export function versionText(version: Cursor, written: Written): string | undefined {
  if (version.number === undefined) return version.text;
  const text = written(version.path);
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? text : String(version.number);
}

function versions(root: Cursor, written: Written): void {
  const installer = root.at('installer');
  const holders = [
    ...installer.at('installTargets').items(),
    ...installer
      .at('plugins')
      .entries()
      .map(([, at]) => at),
  ];
  for (const type of holders.flatMap((holder) => holder.at('dataTypes').items())) {
    const section = asSection(type.value);
    if (section && typeof section.version === 'number') section.version = versionText(type.at('version'), written);
  }
}

type Section = Record<string, unknown>;

const LOOPBACK = '127.0.0.1';

export function derive(document: unknown, written: Written): void {
  versions(new Cursor(document), written);
  const at = (...path: readonly (string | number)[]): Section | undefined => asSection(valueAt(document, path));
  const maxUploadSize = at('installer', 'restService')?.maxUploadSize;
  for (const plugin of Object.values(at('installer', 'plugins') ?? {}))
    for (const type of sections(asSection(plugin)?.dataTypes)) capFileSize(type, Number(maxUploadSize));
  for (const target of sections(valueAt(document, ['installer', 'installTargets']))) installTarget(target);
  ports(at);
  const http = at('containerCore', 'http');
  const handler = at('handler');
  if (handler) {
    handler.bindHost ??= handler.token === undefined ? LOOPBACK : http?.bindHost;
    const ports = at('containerCore', 'ports');
    if (ports) ports.handler = handler.port;
  }
  const pluginHost = at('pluginHost');
  if (pluginHost) pluginHost.bindHost ??= http?.bindHost;
}

/** Servers whose default port depends on whether the connection is encrypted. */
function ports(at: (...path: readonly (string | number)[]) => Section | undefined): void {
  const amqp = at('installer', 'queueBroker', 'global', 'connection');
  if (amqp) amqp.server = withPort(amqp.server, amqp.tls ? AMQP_PORTS.tls : AMQP_PORTS.plain);
  const store = at('installer', 'objectStore');
  if (store?.driver === 's3') store.server = withPort(store.server, store.https ? S3_PORTS.tls : S3_PORTS.plain);
  const mail = at('mail');
  if (mail) mail.server = withPort(mail.server, SMTP_PORTS[mail.security as keyof typeof SMTP_PORTS]);
  const ldap = at('installer', 'ldap');
  if (ldap) {
    const servers = typeof ldap.servers === 'string' ? parseAddressCsv(ldap.servers) : (ldap.servers as unknown[]);
    ldap.servers = servers?.map((server) => withPort(server, ldap.tls ? LDAP_PORTS.tls : LDAP_PORTS.plain));
  }
}

function withPort(server: unknown, port: number): unknown {
  const given = typeof server === 'string' ? parseAddress(server) : (server as Address);
  return given && { host: bracketed(given.host), port: given.port ?? port };
}

/** In the form of the file, because the result is read like a file. */
const bracketed = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host);

function installTarget(target: Section): void {
  if (target.targetId !== undefined) target.targetName ??= target.targetId;
  for (const key of ['controlDb', 'dataDb']) {
    const db = asSection(target[key]);
    if (!db) continue;
    const platform = platformOf(db.platform) ?? 'Postgres';
    if (db.server !== undefined) db.server = withPort(db.server, TARGET_DB_PORTS[platform]);
    db.schema ??= platform === 'MariaDB' ? db.name : db.username;
  }
}

function capFileSize(type: Section, maxUploadSize: number): void {
  type.maxFileSize = type.maxFileSize === undefined ? maxUploadSize : Math.min(Number(type.maxFileSize), maxUploadSize);
}

const asSection = (value: unknown): Section | undefined => (isMap(value) ? value : undefined);
const sections = (value: unknown): readonly Section[] => (Array.isArray(value) ? value.filter(isMap) : []);
