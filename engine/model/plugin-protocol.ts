// Codes and replies of the plugin wire protocol (docs/design/decisions.md#plugin-wire-protocol).

/** Codes of the protocol. */
export const PLUGIN_STATUS = {
  ok: 200,
  invalid: 418,
  missingDependency: 420,
  scriptError: 555,
  serverError: 500,
} as const;

export type HostReply =
  | { readonly kind: 'zip'; readonly file: string; readonly bytes: number }
  | { readonly kind: 'json'; readonly status: number; readonly body: object }
  /** A script ran and nothing came of it. The caller should call again. */
  | { readonly kind: 'later'; readonly message: string }
  | { readonly kind: 'empty' };

/** Highest id of an import job; the lowest is 0. */
export const MAX_JOB_ID = 65_535;

/**
 * Response header of a 503: a script ran before the call failed for lack of a resource, so part of its work may be in the
 * target. A 503 without it comes from a host, or a proxy, that started nothing.
 */
export const SCRIPT_RAN = 'x-script-ran';
