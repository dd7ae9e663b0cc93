// Transport security, the same words everywhere: towards a dependency, and of our own listeners.

import { filled, flag, formed, optional, section } from './field.ts';
import type { Loaded } from './loaded.ts';

/** Stands beside the switch that turns TLS on (`tls`, or `https` of the object store). */
export const tlsOptions = filled('How the server is verified when TLS is on.', {
  caFile: optional(formed<string>('file', "PEM file of the certificate authorities to trust instead of the system's.")),
  verify: flag('False accepts any certificate: for tests only, named in a warning at every start.', true),
});
export type TlsOptions = Loaded<typeof tlsOptions>;

export const listenerTls = section('Serve HTTPS instead of HTTP.', {
  certFile: formed<string>('file', 'PEM file of the certificate chain.'),
  keyFile: formed<string>('file', 'PEM file of the private key.'),
  includeSubDomains: flag(
    'Tell browsers to use TLS for a year with every name below ours, too. Only where all of them have it.',
    false,
  ),
});
export type ListenerTls = Loaded<typeof listenerTls>;
