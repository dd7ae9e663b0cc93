// The one lifecycle contract of everything that runs under the supervisor.
//
//   new --start--> running --quiet--> draining --stop(deadline)--> stopped
//   stop, quiet and kill are fine in every state, any number of times, before start too.

export interface Child {
  readonly name: string;
  /** Resolves when ready to work; rejects when it cannot start. Called once. */
  start(signal: AbortSignal): Promise<void>;
  /** Takes no new work; what runs goes on. */
  quiet(): void;
  /** Finishes or gives up by `deadline` (ms since 1970) and resolves; never rejects. */
  stop(deadline: number): Promise<void>;
  /** Ends now, whatever is lost. */
  kill(): void;
  /** Rejects when a running child broke by itself; pending for ever otherwise. The supervisor then restarts it. */
  readonly broken: Promise<never>;
}

/** How the supervisor makes a child; a restart makes a new one. */
export interface ChildSpec {
  readonly name: string;
  readonly create: () => Child;
}
