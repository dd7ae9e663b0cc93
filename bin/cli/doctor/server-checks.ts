// Checks of other servers: plugins, the token issuer's key set, mail, the directory of databases.

import { Agent, interceptors, request } from 'undici';
import type { Configuration, PluginConfiguration } from '../../../config/configuration.ts';
import type { MailConfiguration } from '../../../config/schema/root.ts';
import { refusalOf } from '../../../engine/adapters/ldap/ldap-directory.ts';
import { SmtpMailer, type SmtpOptions } from '../../../engine/adapters/mail/smtp.ts';
import type { Directory } from '../../../engine/ports/directory.ts';
import type { DependencyHealth } from '../../../http/kernel/pipeline/ops.ts';
import { type Check, codeOf, type Findings, fault, hostPort, networkFix, warning } from './check.ts';

/**
 * Checks a plugin server. A plugin host of Longshore answers /health with its status. Other plugin servers have no /health, but
 * answer /service-info with their build, as the plugin protocol requires.
 */
export const pluginCheck = (key: string, { server }: PluginConfiguration, file: string): Check => ({
  name: `plugin ${key}`,
  where: hostPort(server),
  tried: 'GET /health',
  look: (signal) => look(`http://${hostPort(server)}`, key, signal),
  explain: (error) =>
    networkFix(error, {
      server: 'the plugin server',
      start: `it (longshore plugin --config ${file} --id ${key})`,
      key: `installer.plugins.${key}.server`,
    }) ?? `check installer.plugins.${key}.server: it does not respond to HTTP there`,
});

async function look(base: string, key: string, signal: AbortSignal): Promise<Findings> {
  const answer = await httpAnswer(`${base}/health`, 0, signal);
  const health = healthOf(answer.json);
  if (answer.status !== 200 || !health) {
    const built = builtFrom((await httpAnswer(`${base}/service-info`, 0, signal)).json);
    return built === undefined ? { problems: [stranger(key, answer.status)] } : { says: built, problems: [] };
  }
  const { version, status, unwell } = health;
  const says = `version ${version}`;
  if (status === 'healthy') return { says, problems: [] };
  const problem = status === 'degraded' ? warning : fault;
  return { says, problems: [problem(`it reports that it is ${status}: ${unwell.join('; ')}`, 'check its log')] };
}

const stranger = (key: string, status: number): Findings['problems'][number] =>
  fault(
    `it responds to /health with ${status}; neither /health nor /service-info responds like a plugin server`,
    `correct installer.plugins.${key}.server`,
  );

/** Undefined if this is not a plugin server's document. */
function builtFrom(json: unknown): string | undefined {
  const { manifest } = (json ?? {}) as { readonly manifest?: unknown };
  if (typeof manifest !== 'object' || manifest === null) return undefined;
  const { gitTag } = manifest as { readonly gitTag?: unknown };
  return `a third-party plugin server${typeof gitTag === 'string' ? `, ${gitTag}` : ''}; no further details`;
}

/** Undefined if this is not a health document. */
function healthOf(
  json: unknown,
): { readonly version: string; readonly status: string; readonly unwell: readonly string[] } | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { status, version, dependencies } = json as Record<string, unknown>;
  if (typeof status !== 'string' || !/^(healthy|degraded|unhealthy)$/.test(status)) return undefined;
  if (typeof version !== 'string' || !Array.isArray(dependencies)) return undefined;
  const unwell = (dependencies as readonly Partial<DependencyHealth>[]).flatMap(({ name, online, message }) =>
    online === 'yes' ? [] : [`${name}: ${message ?? online}`],
  );
  return { version, status, unwell };
}

// Checks the key set of the issuer of the bearer tokens.

const KEY = 'containerCore.authentication.oauth.jwksUrl';

export const keySetCheck = (url: string): Check => ({
  name: 'token issuer',
  where: new URL(url).host,
  tried: 'fetch its key set',
  async look(signal) {
    const answer = await httpAnswer(url, 5, signal);
    const keys = answer.status === 200 ? keysOf(answer.json) : undefined;
    if (keys === undefined)
      return {
        problems: [
          fault(
            `it responds with ${answer.status} and no key set`,
            `correct ${KEY}; the issuer's discovery document names it as jwks_uri`,
          ),
        ],
      };
    return keys === 0
      ? { problems: [fault('its key set is empty', 'check the issuer: no token can be verified')] }
      : { says: `${keys} key${keys === 1 ? '' : 's'}`, problems: [] };
  },
  explain: (error) =>
    networkFix(error, { server: 'the issuer', key: KEY, tls: { switch: KEY, options: 'NODE_EXTRA_CA_CERTS' } }) ??
    `check ${KEY}`,
});

function keysOf(document: unknown): number | undefined {
  const keys = (document as { readonly keys?: unknown } | undefined)?.keys;
  return Array.isArray(keys) ? keys.length : undefined;
}

// One GET over its own connection; the response is read up to a limit. Unlike `fetch`, it allows any port.

interface HttpAnswer {
  readonly status: number;
  /** Undefined when the response is not JSON, or too long. */
  readonly json: unknown;
}

/** Longest response that is read. */
const MAX_BYTES = 256 * 1024;

/** @param maxRedirections to follow; 0 = a redirect is returned as the response */
async function httpAnswer(url: string, maxRedirections: number, signal: AbortSignal): Promise<HttpAnswer> {
  const agent = new Agent();
  try {
    const dispatcher = agent.compose(interceptors.redirect({ maxRedirections }));
    const { statusCode: status, body } = await request(url, {
      dispatcher,
      signal,
      headers: { accept: 'application/json' },
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) return { status, json: undefined };
      chunks.push(chunk);
    }
    return { status, json: parsed(Buffer.concat(chunks).toString('utf8')) };
  } finally {
    await agent.destroy();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Checks the mail server: greeting, encryption, login. Sends no mail.

const PATIENCE_MS = 8_000;
const TLS = { switch: 'mail.security', options: 'mail.tlsOptions' } as const;

export const mailCheck = (section: MailConfiguration, options: SmtpOptions): Check => ({
  name: 'mail server',
  where: hostPort(section.server),
  tried: section.username === undefined ? 'read its greeting' : 'read its greeting, log in',
  async look(signal) {
    // The mail client ignores signals, so its timeout must be shorter than the check's.
    using mailer = new SmtpMailer({ ...options, timeoutMs: Math.min(options.timeoutMs, PATIENCE_MS) });
    await mailer.probe(signal);
    return { problems: [] };
  },
  explain,
});

function explain(error: unknown): string {
  switch (codeOf(error)) {
    case 'ETIMEDOUT':
      return 'it is slow, hangs, or a firewall drops packets; a server with implicit TLS (mail.security tls) sends no greeting to an unencrypted connection';
    case 'EAUTH':
      return 'correct mail.username and password; some providers require an app password';
    // The client's codes for all failures of certificates and of starting TLS.
    case 'ESOCKET':
    case 'ETLS':
      return `if its certificate is not trusted, put the PEM file of its authority into ${TLS.options}.caFile; if it uses another encryption mode, correct ${TLS.switch} (starttls, tls or none)`;
    default:
      return (
        networkFix(error, { server: 'the mail server', key: 'mail.server', tls: TLS }) ??
        'check mail.server (host and port) and mail.security; firewalls often close port 25'
      );
  }
}

// Checks the directory in which databases are looked up. Its entries are checked with the databases that they name.

type Ldap = NonNullable<Configuration['installer']['ldap']>;

const PLACE = {
  server: 'the directory server',
  key: 'installer.ldap.servers',
  tls: { switch: 'installer.ldap.tls', options: 'installer.ldap.tlsOptions' },
} as const;

const ENTRY =
  'a PostgresServiceContext with pgConnectionParam host=.., port=.., dbname=.., or labeledURI postgresql://host:port/name';

const reader = (section: Ldap | undefined): string => section?.bindDn ?? 'anonymous clients';

/** What to do when the directory could not be read, as it is configured. */
function explainDirectory(error: unknown, section: Ldap | undefined): string {
  switch (refusalOf(error)) {
    case 'login':
      return 'correct installer.ldap.bindDn and installer.ldap.bindPassword; check that the account is not locked';
    case 'encryption':
      return 'set installer.ldap.tls, with the port for ldaps in installer.ldap.servers';
    case 'access':
    case 'base':
      return section?.bindDn === undefined
        ? 'correct installer.ldap.baseDn, let anonymous clients read below it, or set installer.ldap.bindDn and bindPassword'
        : `correct installer.ldap.baseDn, or let ${section.bindDn} read below it`;
    default:
      return (
        networkFix(error, PLACE) ??
        `make sure that it responds and lets ${reader(section)} read its root entry; check its log`
      );
  }
}

export const directoryCheck = (section: Ldap, directory: Directory): Check => ({
  name: 'directory',
  where: section.servers.map(hostPort).join(', '),
  tried: section.bindDn === undefined ? 'read its root entry, anonymously' : 'log in, read its root entry',
  async look(signal) {
    await directory.probe(signal);
    return { problems: [] };
  },
  explain: (error) => explainDirectory(error, section),
});

/** What to do when an entry was not found, or names no database. */
export function explainEntry(section: Ldap | undefined): (error: unknown) => string {
  const below = section?.baseDn ?? '(installer.ldap.baseDn)';
  return (error) =>
    // Errors in an entry are detected by our own code and have no cause.
    error instanceof Error && error.cause !== undefined
      ? explainDirectory(error, section)
      : `below ${below} there must be exactly one entry of this cn that ${reader(section)} may read: ${ENTRY}`;
}
