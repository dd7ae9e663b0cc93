// Headers of every answer that tell browsers what not to do with it. No answer needs anything from elsewhere, so the policy
// lets it load nothing. A route may set a policy of its own instead.

export interface StandingSettings {
  /** We are reached over TLS of our own; behind a proxy this is the proxy's to say. */
  readonly tls: boolean;
  /** Every name below ours has TLS as well; false when absent. */
  readonly subDomains?: boolean | undefined;
  /** Origins whose pages may show an answer in a frame; false = none. */
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

/** `object-src` follows from `default-src`; checks of sites look for the word. */
const policy = (framedBy: false | readonly string[]): string =>
  ["default-src 'none'", "object-src 'none'", "base-uri 'none'", "form-action 'none'", frameAncestors(framedBy)].join(
    '; ',
  );

const frameAncestors = (origins: false | readonly string[]): string =>
  `frame-ancestors ${origins === false ? "'none'" : origins.join(' ')}`;
