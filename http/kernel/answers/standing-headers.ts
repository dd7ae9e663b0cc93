// The security headers of every response. No response needs other resources, so the content security policy allows none. A
// route may set another policy instead.

export interface StandingSettings {
  /** The listener itself uses TLS. A proxy that terminates TLS has to set the header itself. */
  readonly tls: boolean;
  /** All subdomains use TLS as well; false when absent. */
  readonly subDomains?: boolean | undefined;
  /** Origins whose pages may show a response in a frame; false = none. */
  readonly framedBy: false | readonly string[];
}

const YEAR_SECONDS = 365 * 24 * 60 * 60;

export function standingHeaders({ tls, subDomains, framedBy }: StandingSettings): Readonly<Record<string, string>> {
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
