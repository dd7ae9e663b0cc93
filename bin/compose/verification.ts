// TLS verification options, in the form that all our clients take.

import { readFileSync } from 'node:fs';
import type { TlsOptions } from '../../config/schema/database.ts';

interface Verification {
  readonly rejectUnauthorized: boolean;
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string;
}

export function verification({ caFile, verify }: TlsOptions): Verification {
  return { rejectUnauthorized: verify, ...(caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') }) };
}

/** Empty where connections are not encrypted. */
export function tls(section: { readonly tls: boolean; readonly tlsOptions: TlsOptions }): {
  readonly tls?: Verification;
} {
  return section.tls ? { tls: verification(section.tlsOptions) } : {};
}
