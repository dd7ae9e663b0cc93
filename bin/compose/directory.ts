// Opens the directory that the configuration names; its client is loaded only if there is one.

import type { Configuration } from '../../config/configuration.ts';
import { CachedDirectory } from '../../engine/adapters/ldap/cached-directory.ts';
import type { Directory } from '../../engine/ports/directory.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { tls } from './verification.ts';

/** Undefined when none is configured. */
export async function openDirectory(
  section: Configuration['installer']['ldap'],
  log: Logger,
): Promise<Directory | undefined> {
  if (!section) return undefined;
  const { servers, baseDn } = section;
  const { LdapDirectory } = await import('../../engine/adapters/ldap/ldap-directory.ts');
  return new CachedDirectory(new LdapDirectory({ servers, baseDn, ...tls(section) }), log);
}
