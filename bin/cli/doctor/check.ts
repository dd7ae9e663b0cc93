// The interface of the checks of `longshore doctor`: one check for each dependency of the service. A check changes nothing.

import { getSystemErrorName } from 'node:util';

/** A problem that was found. A `fault` prevents the service, or a part of it, from working. */
export interface Problem {
  readonly severity: 'fault' | 'warning';
  /** A sentence without secrets. */
  readonly problem: string;
  /** What the operator should do about it. */
  readonly fix: string;
}

export interface Findings {
  /** Useful facts, such as versions and counts. */
  readonly says?: string;
  /** The resolved location, if it had to be looked up. */
  readonly where?: string;
  readonly problems: readonly Problem[];
}

export interface Check {
  readonly name: string;
  /** `host:port` or a path; never a secret. */
  readonly where: string;
  /** What the check does, in a few words. */
  readonly tried: string;
  /** Rejects when the dependency cannot be reached at all; `explain` then says what to do. */
  readonly look: (signal: AbortSignal) => Promise<Findings>;
  readonly explain: (error: unknown) => string;
}

export const fault = (problem: string, fix: string): Problem => ({ severity: 'fault', problem, fix });
export const warning = (problem: string, fix: string): Problem => ({ severity: 'warning', problem, fix });

/** As written in a URL. */
export const hostPort = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

// Finds an error's code anywhere in its chain of causes, and says what to do about network errors.

/** The first code (`ECONNREFUSED`, `28P01`, `NoSuchBucket`), from the error inwards. Undefined when there is none. */
export function codeOf(error: unknown): string | undefined {
  const seen = new Set<unknown>();
  const queue = [error];
  for (const one of queue) {
    if (typeof one !== 'object' || one === null || seen.has(one)) continue;
    seen.add(one);
    const { code, errno, cause, errors } = one as Record<'code' | 'errno' | 'cause' | 'errors', unknown>;
    // Some libraries replace the system's code by their own, but keep errno.
    if (typeof errno === 'number' && errno < 0) return getSystemErrorName(errno);
    if (typeof code === 'string' && code !== '') return code;
    queue.push(cause, ...(Array.isArray(errors) ? errors : []));
  }
  return undefined;
}

interface Place {
  /** For example `PostgreSQL`. */
  readonly server: string;
  /** How to start it, if known. */
  readonly start?: string;
  /** Configuration path of the setting with its address. */
  readonly key: string;
  /** Configuration path of the TLS switch and of the section beside it. Undefined where there is no TLS. */
  readonly tls?: { readonly switch: string; readonly options: string };
}

const NAME = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME']);
const NO_WAY = new Set([
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEOUT',
]);
const CUT = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Undefined when the error is not a network error. */
export function networkFix(error: unknown, { server, start = server, key, tls }: Place): string | undefined {
  const code = codeOf(error);
  if (code === undefined) return undefined;
  if (code === 'ECONNREFUSED')
    return `nothing is listening there: start ${start}, or correct ${key}; check that ${server} listens on this address`;
  if (NAME.has(code)) return `the name cannot be resolved: correct ${key}, or the DNS settings of this machine`;
  if (NO_WAY.has(code)) return `it cannot be reached: check ${key}, the network and firewalls`;
  if (code === 'EACCES' || code === 'EPERM') return `this machine forbids the connection: check its firewall`;
  const how = tls ?? { switch: key, options: key };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is for another name: put a name of the certificate into ${key}`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `its certificate is not valid now: renew it, or correct the clocks`;
  if (/CERT|SIGNED|ISSUER|VERIFY/.test(code))
    return `its certificate is not trusted: put the PEM file of the authority that signed it into ${how.options}.caFile`;
  if (code === 'EPROTO' || code.startsWith('ERR_SSL'))
    return `it does not use TLS on this port: correct ${how.switch}, or the port in ${key}`;
  if (CUT.has(code))
    return `it closes the connection: check the log of ${server}; check ${how.switch}, and that the port in ${key} is that of ${server}`;
  return undefined;
}
