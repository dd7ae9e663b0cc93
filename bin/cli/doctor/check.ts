// What `longshore doctor` looks at: one check for each thing that the service needs. A check changes nothing anywhere.

/** Something that is not as it should be. A `fault` keeps the service, or a part of it, from working. */
export interface Problem {
  readonly severity: 'fault' | 'warning';
  /** A sentence without a secret. */
  readonly wrong: string;
  /** What the operator does about it. */
  readonly mend: string;
}

export interface Findings {
  /** What was found there, when it helps to know: versions, counts. */
  readonly says?: string;
  /** Where it turned out to be, when that had to be asked for. */
  readonly where?: string;
  readonly problems: readonly Problem[];
}

export interface Check {
  readonly name: string;
  /** `host:port` or a path; never a secret. */
  readonly where: string;
  /** What is done to find out, in a few words. */
  readonly tried: string;
  /** Rejects when it cannot be reached at all; `explain` has the mend for that. */
  readonly look: (signal: AbortSignal) => Promise<Findings>;
  readonly explain: (error: unknown) => string;
}

export const fault = (wrong: string, mend: string): Problem => ({ severity: 'fault', wrong, mend });
export const warning = (wrong: string, mend: string): Problem => ({ severity: 'warning', wrong, mend });

/** As it stands in a URL. */
export const hostPort = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;
