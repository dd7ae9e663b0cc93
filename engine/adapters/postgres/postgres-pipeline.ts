// Statements that are given at the same time share one connection of the pool: each is sent behind the one before, without
// waiting for its answer. For small reads: with a connection for each, every read wakes a process of the database and is
// waited for by ours, which costs both more than the read itself. For a row of statements of one kind, such as the exchanges
// of a lane: the database goes on with the next one while we work in the answer to the last. Each has its own answer or
// error, whatever becomes of the others.
//   free    no connection is held; the next statement asks the pool for one
//   asked   statements that come meanwhile go out together with the first
//   held    a statement goes out at once; the connection is given back when all have their answers
//   failed  one of them failed: no other goes out, and the connection is closed, as the pool does with those of its own
// Where many are under way already, or others wait for a connection, a statement gets in line for one by itself: so one that
// lasts holds up a bounded number behind it, and a connection that is always in use is given back all the same.

import pg from 'pg';

/** Statements under way on the connection at most. */
const MOST = 16;
const NO_SUCH_STATEMENT = '26000';

export class PostgresPipeline {
  readonly #pool: pg.Pool;
  #asked: Promise<pg.PoolClient> | undefined;
  #held: pg.PoolClient | undefined;
  #underWay = 0;
  #failure: Error | undefined;

  /** @param pool of clients with the option `pipeline` */
  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Those behind it wait for it: give short statements only, and none that waits for locks together with others of another kind. */
  async query(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    if (!this.#isOpen) return this.#pool.query(statement);
    this.#underWay++;
    try {
      return await resultOf(this.#held ?? (await this.#ask()), statement);
    } catch (error) {
      this.#failure ??= error as Error;
      // What is sent behind the first of its name knows only that it could not be prepared, not why.
      throw (error as Partial<pg.DatabaseError>).code === NO_SUCH_STATEMENT ? this.#failure : error;
    } finally {
      if (--this.#underWay === 0) this.#giveBack();
    }
  }

  get #isOpen(): boolean {
    if (this.#failure || this.#underWay >= MOST) return false;
    return !this.#held || this.#pool.waitingCount === 0;
  }

  async #ask(): Promise<pg.PoolClient> {
    this.#asked ??= this.#pool.connect();
    this.#held = await this.#asked;
    return this.#held;
  }

  #giveBack(): void {
    this.#held?.release(this.#failure);
    this.#held = undefined;
    this.#asked = undefined;
    this.#failure = undefined;
  }
}

/** As `client.query` does, which copies each statement it is given property by property: that takes a tenth of a small read. */
function resultOf(client: pg.PoolClient, { text, values, name }: pg.QueryConfig): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query(text, values, (error, result) => (error ? reject(error) : resolve(result)));
    client.query(Object.assign(query, { name }));
  });
}
