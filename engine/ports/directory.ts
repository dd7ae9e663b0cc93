// The directory of an organization, which says where databases are.

export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

export interface Directory {
  /**
   * Where the database with that common name is.
   * @throws Failure `transient`, `unreachable`: no server answers, or the entry does not describe a database; the message names
   * the entry and the problem, because somebody may fix the directory
   */
  find(commonName: string, signal: AbortSignal): Promise<DatabaseAddress>;
  /** Resolves when a server answers; fails like `find` otherwise. */
  probe(signal: AbortSignal): Promise<void>;
}
