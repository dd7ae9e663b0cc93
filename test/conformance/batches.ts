// How batches are consumed, in the suites of the event log and of the change queue: until so many rows have come, refused, or
// by a process that ends in the middle.

type Handle<Row> = (rows: readonly Row[]) => Promise<void>;

export class Batches<Port, Row> {
  readonly #consume: (port: Port, handle: Handle<Row>, signal: AbortSignal) => Promise<void>;

  constructor(consume: (port: Port, handle: Handle<Row>, signal: AbortSignal) => Promise<void>) {
    this.#consume = consume;
  }

  /** In batches, until `count` rows have come to any of the ports; then their consumers have resolved, too. */
  async taken(ports: readonly Port[], count: number): Promise<readonly (readonly Row[])[]> {
    const stop = new AbortController();
    const seen: (readonly Row[])[] = [];
    const handle: Handle<Row> = async (rows) => {
      seen.push(rows);
      if (seen.flat().length >= count) stop.abort();
    };
    await Promise.all(ports.map((port) => this.#consume(port, handle, stop.signal)));
    return seen;
  }

  async take(port: Port, count: number): Promise<readonly Row[]> {
    return (await this.taken([port], count)).flat();
  }

  /** The first two batches, of which the first is refused. */
  async refusedOnce(port: Port, hurry: () => Promise<void>): Promise<readonly (readonly Row[])[]> {
    const stop = new AbortController();
    const refused = Promise.withResolvers<void>();
    const seen: (readonly Row[])[] = [];
    const handle: Handle<Row> = async (rows) => {
      if (seen.push(rows) === 2) return stop.abort();
      refused.resolve();
      throw new Error('not now');
    };
    const consuming = this.#consume(port, handle, stop.signal);
    await refused.promise;
    await hurry();
    await consuming;
    return seen;
  }

  /** What `meanwhile` gives once a process that has a batch in hand was killed. */
  async killed<Result>(port: Port, kill: () => Promise<void>, meanwhile: () => Promise<Result>): Promise<Result> {
    const stop = new AbortController();
    const given = Promise.withResolvers<void>();
    const never = Promise.withResolvers<void>();
    const handle: Handle<Row> = () => {
      given.resolve();
      return never.promise;
    };
    const consuming = this.#consume(port, handle, stop.signal);
    await given.promise;
    await kill();
    const result = await meanwhile();
    stop.abort();
    never.resolve();
    await consuming;
    return result;
  }
}
