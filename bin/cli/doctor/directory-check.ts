// Checks the directory in which databases are looked up. Its entries are checked with the databases that they name.

import type { Configuration } from '../../../config/configuration.ts';
import type { Directory } from '../../../engine/ports/directory.ts';
import { type Check, hostPort } from './check.ts';
import { networkFix } from './error-codes.ts';

type Ldap = NonNullable<Configuration['installer']['ldap']>;

const PLACE = {
  server: 'the directory server',
  key: 'installer.ldap.servers',
  tls: { switch: 'installer.ldap.tls', options: 'installer.ldap.tlsOptions' },
} as const;

const SILENT = 'make sure that it responds and lets anonymous clients read its root entry; check its log';

export const directoryCheck = (section: Ldap, directory: Directory): Check => ({
  name: 'directory',
  where: section.servers.map(hostPort).join(', '),
  tried: 'read its root entry, anonymously',
  async look(signal) {
    await directory.probe(signal);
    return { problems: [] };
  },
  explain: (error) => networkFix(error, PLACE) ?? SILENT,
});

/** What to do when an entry was not found, or names no database. */
export function explainEntry(section: Ldap | undefined): (error: unknown) => string {
  const below = section?.baseDn ?? '(installer.ldap.baseDn)';
  return (error) =>
    networkFix(error, PLACE) ??
    // Errors in an entry are detected by our own code and have no cause.
    (error instanceof Error && error.cause !== undefined ? SILENT : undefined) ??
    `below ${below} there must be exactly one entry of this cn that anonymous clients may read: a PostgresServiceContext with pgConnectionParam host=.., port=.., dbname=.., or labeledURI postgresql://host:port/name`;
}
