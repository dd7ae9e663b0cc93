// Cross-origin calls of sites' pages: an explicit list of origins, credentials allowed, never a wildcard.

/** False = none. */
export type CorsSettings = false | readonly string[];

const EXPOSED =
  'location, etag, content-disposition, content-range, accept-ranges, x-request-id, api-version, retry-after';
/** Headers that a page may send; without this a browser sends none of them. */
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

/** What a preflight adds; only for an origin that {@link corsHeaders} let in. */
export function preflightHeaders(methods: readonly string[]): readonly (readonly [string, string])[] {
  return [
    ['access-control-allow-methods', methods.join(', ')],
    ['access-control-allow-headers', ACCEPTED],
    ['access-control-max-age', PREFLIGHT_SECONDS],
  ];
}

/**
 * Whether a page of another origin sent this. A browser asks before it sends a token or JSON, but not before a plain form:
 * what needs no token must not be had by a page that somebody on the machine happens to look at. Programs send no `Origin`.
 * @param own address under which we were called
 */
export const isForeign = (settings: CorsSettings, origin: string | undefined, own: string): boolean =>
  origin !== undefined && !(settings || []).includes(origin) && origin !== URL.parse(own)?.origin;
