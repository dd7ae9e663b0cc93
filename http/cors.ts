// Cross-origin calls of sites' pages: an explicit list of origins, credentials allowed, never a wildcard.

/** False = none. */
export type CorsSettings = false | readonly string[];

const EXPOSED = 'location, etag, content-disposition, x-request-id, api-version, retry-after';

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
