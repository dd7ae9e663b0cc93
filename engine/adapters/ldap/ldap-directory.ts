// The directory over LDAP: read anonymously or after a simple bind, servers tried in the given order, one connection per lookup,
// because lookups are rare. An entry gives the address of its database in one of two ways:
//   class PostgresServiceContext   values `host=..`, `port=..`, `dbname=..` of the attribute pgConnectionParam
//   any other                      labeledURI: postgresql://host[:port]/name
// docs/configure.md describes the format for operators.

import { Client, type Entry, EqualityFilter, ResultCodeError } from 'ldapts';
import type { DatabaseAddress, Directory } from '../../ports/directory.ts';
import { messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { unlessAborted } from '../../runtime/wait.ts';

export interface LdapOptions {
  /** Tried in this order. */
  readonly servers: readonly { readonly host: string; readonly port: number }[];
  readonly baseDn: string;
  /** Undefined = anonymous. */
  readonly login?: { readonly dn: string; readonly password: string } | undefined;
  /** Undefined = not encrypted. */
  readonly tls?: { readonly rejectUnauthorized: boolean; readonly ca?: string } | undefined;
}

/** Per server. */
const CONNECT_MS = 5_000;
const ANSWER_MS = 5_000;
const POSTGRES_PORT = 5432;
const ATTRIBUTES = ['objectClass', 'pgConnectionParam', 'labeledURI'];

export class LdapDirectory implements Directory {
  readonly #options: LdapOptions;

  constructor(options: LdapOptions) {
    this.#options = options;
  }

  async find(commonName: string, signal: AbortSignal): Promise<DatabaseAddress> {
    const { baseDn } = this.#options;
    // In a filter object the name is always a value and cannot be parsed as filter syntax.
    const filter = new EqualityFilter({ attribute: 'cn', value: commonName });
    const entries = await this.#ask(async (client) => {
      // No size limit, so that the error can state how many entries there are.
      const options = { scope: 'sub', filter, attributes: ATTRIBUTES, sizeLimit: 0 } as const;
      return (await client.search(baseDn, options)).searchEntries;
    }, signal);
    const where = `directory entry cn=${commonName} below ${baseDn}`;
    const [entry, ...others] = entries;
    if (!entry) throw wrong(`${where}: no such entry`);
    if (others.length > 0) throw wrong(`${where}: found ${entries.length} entries, expected exactly one`);
    const address = addressOf(entry);
    if (typeof address === 'string') throw wrong(`${where} (${entry.dn}): ${address}`);
    return address;
  }

  async probe(signal: AbortSignal): Promise<void> {
    await this.#ask((client) => client.search('', { scope: 'base', attributes: ['namingContexts'] }), signal);
  }

  async #ask<Answer>(question: (client: Client) => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    const { servers, tls, login } = this.#options;
    const faults: string[] = [];
    const errors: unknown[] = [];
    for (const { host, port } of servers) {
      signal.throwIfAborted();
      const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
      const client = new Client({
        url: `${tls ? 'ldaps' : 'ldap'}://${at}`,
        connectTimeout: CONNECT_MS,
        timeout: ANSWER_MS,
        ...(tls ? { tlsOptions: tls } : {}),
      });
      try {
        const answer = async (): Promise<Answer> => {
          if (login) await client.bind(login.dn, login.password);
          return question(client);
        };
        return await unlessAborted(answer(), signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const refusal = refusalOf(error);
        // It would be the same on the next server, and too many wrong logins lock an account.
        if (refusal !== undefined)
          throw transient(`directory server ${at} ${WORDS[refusal](this.#options)}`, {
            cause: error,
            unreachable: true,
          });
        errors.push(error);
        faults.push(`${at}: ${messageOf(error) || (error as Error).name}`);
      } finally {
        await client.unbind().catch(() => undefined);
      }
    }
    throw transient(`no directory server responds (${faults.join('; ')})`, {
      cause: new AggregateError(errors),
      unreachable: true,
    });
  }
}

/** What a server that responds refuses. */
export type DirectoryRefusal = 'login' | 'encryption' | 'access' | 'base';

const REFUSALS: Readonly<Record<number, DirectoryRefusal>> = {
  // strongAuthRequired, confidentialityRequired
  8: 'encryption',
  13: 'encryption',
  // noSuchObject: of what the client may not see, servers say that it does not exist.
  32: 'base',
  // invalidDNSyntax of a base or a name, inappropriateAuthentication, invalidCredentials
  34: 'base',
  48: 'access',
  49: 'login',
  // insufficientAccessRights
  50: 'access',
};

const who = ({ login }: LdapOptions): string => (login ? login.dn : 'anonymous clients');
const WORDS: Readonly<Record<DirectoryRefusal, (options: LdapOptions) => string>> = {
  login: ({ login }) => `refuses the login as ${login?.dn}: wrong name or password`,
  encryption: () => 'requires an encrypted connection',
  access: (options) => `does not let ${who(options)} read it`,
  base: (options) => `has no entry ${options.baseDn}, or does not let ${who(options)} see it`,
};

/** Undefined if the error, and what caused it, is another problem. */
export function refusalOf(error: unknown): DirectoryRefusal | undefined {
  for (let one = error; one instanceof Error; one = one.cause)
    if (one instanceof ResultCodeError) return REFUSALS[one.code];
  return undefined;
}

/** Returns the problem as text when the entry names no database. */
function addressOf(entry: Entry): DatabaseAddress | string {
  const classes = textsOf(entry, 'objectClass').map((name) => name.toLowerCase());
  if (classes.includes('postgresservicecontext')) return fromParameters(textsOf(entry, 'pgConnectionParam'));
  const [uri] = textsOf(entry, 'labeledURI');
  if (uri !== undefined) return fromUri(uri);
  if (classes.includes('orclnetservice')) return 'it is an Oracle service; only PostgreSQL is supported';
  return 'it is not a PostgresServiceContext and has no labeledURI';
}

function fromParameters(parameters: readonly string[]): DatabaseAddress | string {
  const values = new Map<string, string>();
  for (const parameter of parameters) {
    const at = parameter.indexOf('=');
    if (at > 0) values.set(parameter.slice(0, at).trim().toLowerCase(), parameter.slice(at + 1).trim());
  }
  const host = values.get('host');
  const database = values.get('dbname');
  if (!host) return 'its pgConnectionParam names no host';
  if (!database) return 'its pgConnectionParam names no dbname';
  const port = portOf(values.get('port'));
  return port === undefined ? `its port '${values.get('port')}' is not from 1 to 65535` : { host, port, database };
}

function fromUri(labeledUri: string): DatabaseAddress | string {
  // A label may follow the URI.
  const [uri = ''] = labeledUri.trim().split(/\s/, 1);
  const url = URL.parse(uri);
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol))
    return `its labeledURI '${uri}' is not of the form postgresql://host:port/name`;
  const database = decodeURIComponent(url.pathname.slice(1));
  if (url.hostname === '' || database === '' || database.includes('/'))
    return `its labeledURI '${uri}' is not of the form postgresql://host:port/name`;
  const port = portOf(url.port || undefined);
  if (port === undefined) return `its port '${url.port}' is not from 1 to 65535`;
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port, database };
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return POSTGRES_PORT;
  const port = Number(text);
  return /^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535 ? port : undefined;
}

/** Attribute names are case-insensitive. */
function textsOf(entry: Entry, attribute: string): readonly string[] {
  const name = Object.keys(entry).find((key) => key.toLowerCase() === attribute.toLowerCase());
  const values = name === undefined ? [] : entry[name];
  return (Array.isArray(values) ? values : [values]).map(String);
}

const wrong = (message: string): Error => transient(message, { unreachable: true });

/** A directory that falls back to its last results while it is unavailable. */
export class CachedDirectory implements Directory {
  readonly #directory: Directory;
  readonly #log: Logger;
  /** By common name; bounded by the number of databases in the configuration. */
  readonly #known = new Map<string, DatabaseAddress>();

  constructor(directory: Directory, log: Logger) {
    this.#directory = directory;
    this.#log = log;
  }

  async find(commonName: string, signal: AbortSignal): Promise<DatabaseAddress> {
    try {
      const found = await this.#directory.find(commonName, signal);
      this.#known.set(commonName, found);
      return found;
    } catch (error) {
      const known = this.#known.get(commonName);
      if (!known || signal.aborted) throw error;
      this.#log.warn(
        { err: error, database: commonName, at: known },
        'directory unavailable; using the last known address of a database',
      );
      return known;
    }
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#directory.probe(signal);
  }
}
