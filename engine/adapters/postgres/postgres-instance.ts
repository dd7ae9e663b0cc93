// Identifies this process among all processes on one cache database: a number, and an advisory lock that proves that the
// process is alive. The lock and LISTEN share one connection, the only one outside of the pool.
//
//   connected  --connection lost-->  lost       our lock is free: others may take our leases and claimed rows at once
//   lost       --reconnected-->      connected  same number, lock acquired again, gap reported, every listener called once
//   any        --dispose-->          disposed   lock released, no reconnection

import type pg from 'pg';
import { aborted } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { DELAYS, persisting } from '../../runtime/retry.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledWithin } from '../../runtime/wait.ts';
import { type Postgres, postgresFailure } from './postgres.ts';

const END_MS = 5_000;

// The server, too, must detect within half a minute that our machine is gone; otherwise our lock outlives us.
const SESSION = `set idle_session_timeout = 0; set statement_timeout = '30s';
  set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3`;

export interface InstanceGap {
  /** Milliseconds without proof that this process is alive. */
  readonly ms: number;
}

interface PostgresInstanceOptions {
  /** Called after each gap, once we hold the lock again. Renew leases then; some may be lost. */
  readonly onGap: (gap: InstanceGap) => void;
}

interface Session {
  readonly client: pg.Client;
  readonly id: number;
  /** Resolves when the connection is gone, for whatever reason. */
  readonly lost: Promise<void>;
}

export class PostgresInstance implements AsyncDisposable {
  readonly id: number;
  readonly #db: Postgres;
  readonly #options: PostgresInstanceOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #listen: PostgresListen;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;
  #session: Session;
  #connected = true;

  /** Takes a new number and its lock. Fails when the database cannot be reached now; later losses are reconnected. */
  static async open(
    db: Postgres,
    options: PostgresInstanceOptions,
    clock: Clock,
    log: Logger,
    signal: AbortSignal,
  ): Promise<PostgresInstance> {
    signal.throwIfAborted();
    return new PostgresInstance(db, options, clock, log, await openSession(db, undefined));
  }

  private constructor(db: Postgres, options: PostgresInstanceOptions, clock: Clock, log: Logger, session: Session) {
    this.#db = db;
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
    this.#listen = new PostgresListen(log);
    this.#listen.attach(session.client);
    this.#session = session;
    this.id = session.id;
    this.#running = this.#run();
  }

  /** False while others may consider this process dead: do not take new work. */
  get connected(): boolean {
    return this.#connected;
  }

  /** {@link PostgresListen.listen} on the instance's current connection. */
  listen(channel: string, listener: Listener): () => void {
    return this.#listen.listen(channel, listener);
  }

  /** Releases the lock: rows and leases that this process still holds become free for others. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(aborted('the process instance is closed'));
    await this.#end(this.#session);
    await this.#running;
  }

  /** Watches the connection and replaces it until disposed. Never rejects. */
  async #run(): Promise<void> {
    const { signal } = this.#ending;
    for (;;) {
      await this.#session.lost;
      const since = this.#clock.now();
      this.#connected = false;
      this.#listen.detach();
      await this.#end(this.#session);
      if (signal.aborted) return;
      this.#log.warn({ instance: this.id }, 'lost the connection that proves that this process is alive');
      const session = await this.#reconnect(signal);
      if (!session) return;
      this.#session = session;
      this.#connected = true;
      const gap = { ms: this.#clock.now() - since };
      this.#log.warn({ instance: this.id, gapMs: gap.ms }, 'the process instance is connected again');
      this.#listen.attach(session.client);
      this.#options.onGap(gap);
    }
  }

  async #reconnect(signal: AbortSignal): Promise<Session | undefined> {
    const failed = (err: unknown): void =>
      this.#log.debug({ err, instance: this.id }, 'the process instance cannot connect yet');
    const open = (): Promise<Session> => openSession(this.#db, this.id);
    const session = await persisting(DELAYS.database, this.#clock, open, failed, signal);
    if (session && signal.aborted) await this.#end(session);
    return signal.aborted ? undefined : session;
  }

  /** Ends a connection that may be broken already, with a deadline. */
  async #end(session: Session): Promise<void> {
    if (!(await settledWithin(this.#clock, END_MS, session.client.end())))
      this.#log.warn({ instance: this.id }, 'the connection of the process instance was not closed in time');
  }
}

/** A connection that holds the lock of `known`, or of a new number. */
async function openSession(db: Postgres, known: number | undefined): Promise<Session> {
  const client = await db.dedicated();
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve());
    client.on('end', () => resolve());
  });
  try {
    await client.query(SESSION);
    const id = known ?? Number((await client.query("select nextval('instance_id') as id")).rows[0].id);
    // The server may still have our session of a broken connection; terminate it, because it holds the lock.
    if (known !== undefined)
      await client.query('select pg_terminate_backend(pid, 5000) from alive_instance where id = $1', [id]);
    await client.query('select pg_advisory_lock(instance_class(), $1)', [id]);
    return { client, id, lost };
  } catch (error) {
    await client.end().catch(() => undefined);
    throw postgresFailure(error, 'connection of the process instance');
  }
}

// LISTEN on one connection for any number of listeners. Notifications are only hints: whenever some may have been missed, every
// listener is called with undefined and must check for itself.

/** Called with the payload of a notification, or with undefined when notifications may have been missed. */
type Listener = (payload: string | undefined) => void;

class PostgresListen {
  readonly #log: Logger;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Channels that the current connection listens to. */
  readonly #heard = new Set<string>();
  #client: pg.Client | undefined;
  /** Serializes statements on the connection. */
  #turn: Promise<void> = Promise.resolve();

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Calls `listener` for every notification, and once with undefined as soon as LISTEN is active. A check after that call sees
   * everything notified before; later changes are notified. The returned function stops that.
   */
  listen(channel: string, listener: Listener): () => void {
    // A new function for each call, so that the same `listener` can be registered twice.
    const own: Listener = (payload) => listener(payload);
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(own));
    this.#inTurn(async () => {
      await this.#follow(channel);
      if (this.#heard.has(channel)) this.#call(own, channel, undefined);
    });
    return () => {
      if (!listeners.delete(own)) return;
      this.#inTurn(() => this.#follow(channel));
    };
  }

  /** Switches to a new connection: listens to every channel there, then calls every listener once. */
  attach(client: pg.Client): void {
    this.#client = client;
    this.#heard.clear();
    client.on('notification', ({ channel, payload }) => {
      if (client === this.#client) this.#callAll(channel, payload ?? '');
    });
    this.#inTurn(async () => {
      for (const channel of this.#listeners.keys()) {
        await this.#follow(channel);
        if (this.#heard.has(channel)) this.#callAll(channel, undefined);
      }
    });
  }

  /** Call it when the connection is gone. */
  detach(): void {
    this.#client = undefined;
    this.#heard.clear();
  }

  /** Listens to the channel if it has listeners; otherwise stops. */
  async #follow(channel: string): Promise<void> {
    const client = this.#client;
    const wanted = (this.#listeners.get(channel)?.size ?? 0) > 0;
    if (!client || wanted === this.#heard.has(channel)) return;
    await client.query(`${wanted ? 'listen' : 'unlisten'} ${client.escapeIdentifier(channel)}`);
    if (client !== this.#client) return;
    if (wanted) this.#heard.add(channel);
    else this.#heard.delete(channel);
  }

  #inTurn(step: () => Promise<void>): void {
    // If a statement fails, the connection is lost: attach() repeats everything on the next one.
    this.#turn = this.#turn.then(step).catch((err) => this.#log.debug({ err }, 'LISTEN was interrupted'));
  }

  #callAll(channel: string, payload: string | undefined): void {
    for (const listener of [...(this.#listeners.get(channel) ?? [])]) this.#call(listener, channel, payload);
  }

  #call(listener: Listener, channel: string, payload: string | undefined): void {
    if (!this.#listeners.get(channel)?.has(listener)) return;
    try {
      listener(payload);
    } catch (err) {
      this.#log.error({ err, channel }, 'a notification handler failed');
    }
  }
}
