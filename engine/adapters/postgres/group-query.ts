// Statements that are sent to the server together, as one query of the driver. Between them there is no Sync, the message that
// has the server commit, so they share one transaction. The methods are those that the driver calls on a query (pg-cursor
// implements them, too).

import pg from 'pg';
import { sqlState } from './postgres.ts';

export interface GroupMember {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly name: string | undefined;
  readonly resolve: (rows: object[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Nothing was executed: the server undid the group, or never got it. */
export class GroupRefused extends Error {
  /** The number of the member that failed. Without such a member, something else failed. */
  readonly member: number;

  constructor(member: number, cause: unknown) {
    super('a group of statements was not executed', { cause });
    this.member = member;
  }
}

interface DriverQuery extends pg.Submittable {
  readonly name: string | undefined;
  readonly text: string | undefined;
  submit(connection: pg.Connection): Error | null;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: pg.Connection): void;
  handleEmptyQuery(connection: pg.Connection): void;
  handleError(error: Error, connection: pg.Connection): void;
  handleReadyForQuery(connection: pg.Connection): void;
}

/** SQLSTATEs after which the server closes the connection. It may have committed before. */
const CONNECTION_ENDS = /^(08|57P)/;

export class GroupQuery implements DriverQuery {
  /**
   * Resolves when the group is committed and each member has its rows. Otherwise rejects: with {@link GroupRefused}, or with an
   * error after which nobody knows whether the group was committed.
   */
  readonly committed: Promise<void>;
  /** Set by the driver, which waits for an answer no longer than its `query_timeout`; called when the group is over. */
  callback: ((error?: Error) => void) | undefined;
  readonly #queries: readonly DriverQuery[];
  readonly #settle: { readonly resolve: () => void; readonly reject: (error: unknown) => void };
  /** The member whose answer comes next. */
  #at = 0;
  /** Why the driver cannot send a value. */
  #unsendable: Error | null = null;

  constructor(members: readonly GroupMember[], types: pg.CustomTypesConfig) {
    const { promise, ...settle } = Promise.withResolvers<void>();
    this.committed = promise;
    this.#settle = settle;
    this.#queries = members.map(({ text, values, name, resolve, reject }) => {
      // A simple query, which the driver prefers without values, would commit those before it.
      const config = { text, values, name, types, queryMode: 'extended' };
      const done = (error: Error | null, result: pg.QueryResult): void => {
        this.#unsendable = error;
        if (error) reject(error);
        else resolve(result.rows);
      };
      return new pg.Query(config as unknown as pg.QueryConfig, done as never) as unknown as DriverQuery;
    });
  }

  /** Under these the driver notes that the server has prepared a statement. */
  get name(): string | undefined {
    return this.#queries[this.#at]?.name;
  }

  get text(): string | undefined {
    return this.#queries[this.#at]?.text;
  }

  submit(connection: pg.Connection): Error | null {
    const withoutSync: pg.Connection = Object.create(connection, { sync: { value: () => undefined } });
    connection.stream.cork();
    try {
      for (const [n, query] of this.#queries.entries()) {
        const error = query.submit(withoutSync) ?? this.#unsendable;
        if (error) return new GroupRefused(n, error);
      }
      connection.sync();
      return null;
    } finally {
      connection.stream.uncork();
    }
  }

  handleRowDescription(message: unknown): void {
    this.#current.handleRowDescription(message);
  }

  handleDataRow(message: unknown): void {
    this.#current.handleDataRow(message);
  }

  handleCommandComplete(message: unknown, connection: pg.Connection): void {
    this.#current.handleCommandComplete(message, connection);
    this.#at++;
  }

  handleEmptyQuery(connection: pg.Connection): void {
    this.#current.handleEmptyQuery(connection);
    this.#at++;
  }

  /** The server ignores the rest of the group, so the driver no longer knows which statements are prepared there. */
  handleError(error: Error): void {
    const state = sqlState(error);
    const isRefused = state !== undefined && !CONNECTION_ENDS.test(state);
    this.#settle.reject(isRefused ? new GroupRefused(this.#at, error) : error);
    this.callback?.(error);
  }

  handleReadyForQuery(connection: pg.Connection): void {
    for (const query of this.#queries) query.handleReadyForQuery(connection);
    this.#settle.resolve();
    this.callback?.();
  }

  get #current(): DriverQuery {
    const query = this.#queries[this.#at];
    if (!query) throw new Error('the server answered more statements than it was sent');
    return query;
  }
}
