// Group commit: statements that wait at the same time share one transaction, so one commit, and one write to the server's disk,
// serves them all. While one group is under way, the next one gathers. Otherwise a statement waits only for the rest of this
// turn of the event loop.
//
//   gathered --the group before it is over--> under way --committed--> each has its rows
//     refused          one failed, so the server undid all: it is repeated alone and fails alone; the others go with the next group
//     not connected    nothing was sent: each is repeated alone, on a connection of the pool
//     connection lost  each fails, because the group may have been committed; so does a server that says nothing for too long
//
// A group is one round trip. Each statement sees what was committed before it, as it would alone. Locks are held while the
// server executes the group, never while it waits for us. A group that would wait longer than LOCK_MS for a lock is refused. So
// a row that is locked for long delays others by no more than that, and groups of two processes cannot block each other.

import { setImmediate as turn } from 'node:timers/promises';
import type pg from 'pg';
import { type GroupMember, GroupQuery, GroupRefused } from './group-query.ts';
import type { Sql } from './postgres.ts';

/** Shorter than the server's `deadlock_timeout`, which is one second by default. */
export const LOCK_MS = 100;
const MOST_STATEMENTS = 32;
/** Characters of all values. A statement with more may take long, such as one with many files, so it is executed alone. */
const MOST_CHARACTERS = 128 * 1024;

interface Waiting extends GroupMember {
  readonly alone: Sql;
  readonly characters: number;
}

export class GroupCommit {
  readonly #pool: pg.Pool;
  readonly #types: pg.CustomTypesConfig;
  #gathered: Waiting[] = [];
  #isUnderWay = false;

  /** @param pool of one connection, with LOCK_MS as its `lock_timeout` */
  constructor(pool: pg.Pool, types: pg.CustomTypesConfig) {
    this.#pool = pool;
    this.#types = types;
  }

  /** @param alone executes a statement in a transaction of its own */
  query<Row extends object>(alone: Sql, text: string, values: readonly unknown[], name?: string): Promise<Row[]> {
    const characters = charactersOf(values);
    if (characters > MOST_CHARACTERS) return alone.query(text, values, name);
    const { promise, resolve, reject } = Promise.withResolvers<object[]>();
    this.#gathered.push({ alone, characters, text, values, name, resolve, reject });
    if (!this.#isUnderWay) void this.#commitAll();
    return promise as Promise<Row[]>;
  }

  /** Never rejects. */
  async #commitAll(): Promise<void> {
    this.#isUnderWay = true;
    while (this.#gathered.length > 0) {
      await turn();
      await this.#commit(this.#nextGroup());
    }
    this.#isUnderWay = false;
  }

  #nextGroup(): readonly Waiting[] {
    let sum = 0;
    const end = this.#gathered.findIndex(({ characters }, n) => {
      sum += characters;
      return n === MOST_STATEMENTS || sum > MOST_CHARACTERS;
    });
    return this.#gathered.splice(0, end < 0 ? this.#gathered.length : end);
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      await this.#execute(group);
    } catch (error) {
      if (!(error instanceof GroupRefused)) for (const { reject } of group) reject(error);
      else this.#repeat(group, error.member);
    }
  }

  #repeat(group: readonly Waiting[], failed: number): void {
    const refused = group.filter((_, n) => n === failed || !(failed in group));
    this.#gathered.unshift(...group.filter((member) => !refused.includes(member)));
    for (const { alone, text, values, name, resolve, reject } of refused)
      alone.query(text, values, name).then(resolve, reject);
  }

  /** A connection serves until a group fails on it. */
  async #execute(group: readonly GroupMember[]): Promise<void> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw new GroupRefused(group.length, error);
    });
    let isCommitted = false;
    try {
      await client.query(new GroupQuery(group, this.#types)).committed;
      isCommitted = true;
    } finally {
      client.release(!isCommitted);
    }
  }
}

const charactersOf = (values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + (Array.isArray(value) ? charactersOf(value) : String(value).length), 0);
