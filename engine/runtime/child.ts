// The lifecycle contract of everything that runs under the supervisor.
//
//   new --start--> running --quiet--> draining --stop(deadline)--> stopped
// stop, quiet and kill are allowed in every state, any number of times, even before start.

export interface Child {
  readonly name: string;
  /** Resolves when ready to work; rejects when it cannot start. Called once. */
  start(signal: AbortSignal): Promise<void>;
  /** Takes no new work; running work continues. */
  quiet(): void;
  /** Finishes or gives up by `deadline` (ms since 1970) and resolves; never rejects. */
  stop(deadline: number): Promise<void>;
  /** Ends at once, even if work is lost. */
  kill(): void;
  /** Rejects when a running child crashes; otherwise stays pending forever. The supervisor then restarts the child. */
  readonly broken: Promise<never>;
}

/** How the supervisor creates a child; each restart creates a new one. */
export interface ChildSpec {
  readonly name: string;
  readonly create: () => Child;
}
