// The interface of the checks of `longshore doctor`: one check for each dependency of the service. A check changes nothing.

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
