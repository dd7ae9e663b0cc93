// The directory that the configuration names.

import type { Configuration } from '../config/configuration.ts';
import { LdapDirectory } from '../engine/adapters/ldap-directory.ts';
import { RememberingDirectory } from '../engine/adapters/remembering-directory.ts';
import type { Logger } from '../engine/log.ts';
import type { Directory } from '../engine/ports/directory.ts';
import { tls } from './verification.ts';

/** Undefined where none is configured. */
export function openDirectory(section: Configuration['installer']['ldap'], log: Logger): Directory | undefined {
  if (!section) return undefined;
  const { servers, baseDn } = section;
  return new RememberingDirectory(new LdapDirectory({ servers, baseDn, ...tls(section) }), log);
}
