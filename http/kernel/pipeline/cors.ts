// Cross-origin requests from the pages of sites: an explicit list of origins, with credentials, and never a wildcard.

/** False = none. */
export type CorsSettings = false | readonly string[];

const EXPOSED =
  'location, etag, content-disposition, content-range, accept-ranges, x-request-id, api-version, retry-after';
/** Headers that a page may send. Browsers send only those that are listed. */
const ACCEPTED =
  'authorization, auth-key, auth_key, admin-token, user-id, content-type, api-version, if-match, if-none-match, range, traceid, traceparent';
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
