// The security headers of every response. No response needs other resources, so the content security policy allows none. A
// route may set another policy instead.

interface StandingSettings {
  /** The listener itself uses TLS. A proxy that terminates TLS has to set the header itself. */
  readonly tls: boolean;
  /** All subdomains use TLS as well; false when absent. */
  readonly subDomains?: boolean | undefined;
  /** Origins whose pages may show a response in a frame; false = none. */
  readonly framedBy: false | readonly string[];
}

const YEAR_SECONDS = 365 * 24 * 60 * 60;

export function securityHeaders({ tls, subDomains, framedBy }: StandingSettings): Readonly<Record<string, string>> {
  return {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': policy(framedBy),
    ...(tls
      ? { 'strict-transport-security': `max-age=${YEAR_SECONDS}${subDomains ? '; includeSubDomains' : ''}` }
      : {}),
  };
}

/** `default-src` already covers `object-src`, but website checkers look for the directive. */
const policy = (framedBy: false | readonly string[]): string =>
  ["default-src 'none'", "object-src 'none'", "base-uri 'none'", "form-action 'none'", frameAncestors(framedBy)].join(
    '; ',
  );

const frameAncestors = (origins: false | readonly string[]): string =>
  `frame-ancestors ${origins === false ? "'none'" : origins.join(' ')}`;

// Cross-origin requests from the pages of sites: an explicit list of origins, with credentials, and never a wildcard.

/** False = none. */
export type CorsSettings = false | readonly string[];

const EXPOSED =
  'location, etag, link, repr-digest, x-total-count, content-disposition, content-range, accept-ranges, x-request-id, api-version, retry-after, ' +
  'idempotent-replayed, ratelimit, ratelimit-policy, ' +
  'tus-resumable, tus-version, tus-extension, tus-max-size, tus-checksum-algorithm, upload-offset, upload-length, upload-metadata, upload-expires';
/** Headers that a page may send. Browsers send only those that are listed. */
const ACCEPTED =
  'authorization, auth-key, auth_key, admin-token, user-id, content-type, api-version, idempotency-key, if-match, if-none-match, range, content-digest, repr-digest, traceid, traceparent, ' +
  'x-request-id, x-requested-with, x-http-method-override, tus-resumable, upload-offset, upload-length, upload-metadata, ' +
  'upload-checksum, upload-defer-length';
const PREFLIGHT_SECONDS = '600';

export function corsHeaders(
  settings: CorsSettings,
  origin: string | undefined,
): readonly (readonly [string, string])[] {
  if (settings === false) return [];
  const vary = ['vary', 'origin, accept-encoding'] as const;
  if (origin === undefined || !settings.includes(origin)) return [vary];
  return [
    vary,
    ['access-control-allow-origin', origin],
    ['access-control-allow-credentials', 'true'],
    ['access-control-expose-headers', EXPOSED],
  ];
}

/** The additional headers of a preflight response; only for an origin that {@link corsHeaders} admitted. */
export function preflightHeaders(methods: readonly string[]): readonly (readonly [string, string])[] {
  return [
    ['access-control-allow-methods', methods.join(', ')],
    ['access-control-allow-headers', ACCEPTED],
    ['access-control-max-age', PREFLIGHT_SECONDS],
  ];
}

/**
 * True when a page of another origin sent the request. Browsers send a preflight before a token or JSON, but not before a plain
 * form. So a page that somebody on this machine views could otherwise call routes without a token. Programs send no `Origin`.
 * @param own the URL under which we were called
 */
export const isForeign = (settings: CorsSettings, origin: string | undefined, own: string): boolean =>
  origin !== undefined && !(settings || []).includes(origin) && origin !== URL.parse(own)?.origin;
