// The directory of an organisation, which says where databases are.

export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

export interface Directory {
  /**
   * Where the database of that common name is.
   * @throws Failure `transient`, `unreachable`: no server answers, or what stands there names no database; the message
   *   names the entry and says what is wrong, and may be right after the directory was mended
   */
  find(commonName: string, signal: AbortSignal): Promise<DatabaseAddress>;
  /** Resolves when a server answers; fails like `find` otherwise. */
  probe(signal: AbortSignal): Promise<void>;
}
