// Many streams follow many datasets while the program is killed again and again: each stream has each event once and in order.
// The sizes are small here; LONGSHORE_STREAMS=100 LONGSHORE_DATASETS=1000 LONGSHORE_KILLS=5 make them large.

import { Readable } from 'node:stream';
import t from 'tap';
import { request } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { type Frame, framesOf } from '../support/event-frames.ts';
import { freePortBase, tempDir, type Up, up } from '../support/longshore.ts';
import { withCache } from '../support/places.ts';

const STREAMS = Number(process.env.LONGSHORE_STREAMS ?? 12);
const DATASETS = Number(process.env.LONGSHORE_DATASETS ?? 30);
const KILLS = Number(process.env.LONGSHORE_KILLS ?? 3);
const STREAMS_PER_USER = 20;
/** Uploads at a time, of each user. */
const AT_ONCE = 2;
const FILE = { name: 'genes.txt', content: geneList(5) };
const LIFE = ['accepted', 'import-ended', 'installed'];

interface Told {
  readonly id: number;
  readonly kind: string;
  readonly dataset: string;
}

const dir = await tempDir(t);
const args = ['--port-base', String(await freePortBase())];
/** The program that runs now, or that starts again. */
let app: Promise<Up> = up(t, dir, args);
const { installer } = (await app).endpoints;

/** One client: it connects again whenever its stream ends, and names the last event that it has. */
class Client {
  readonly told: Told[] = [];
  reconnections = 0;
  readonly #token: string;
  readonly #path: string;
  readonly #over = new AbortController();
  #onTold: () => void = () => undefined;

  constructor(token: string, path: string) {
    this.#token = token;
    this.#path = path;
  }

  /** Resolves once it follows; keeps following. */
  async start(): Promise<void> {
    const began = Promise.withResolvers<void>();
    const follow = async (): Promise<void> => {
      let last: string | undefined;
      while (!this.#over.signal.aborted) {
        try {
          for await (const frame of await this.#connect(last)) {
            began.resolve();
            last = frame.id ?? last;
            this.#note(frame);
          }
        } catch (error) {
          // Killed; or it does not listen yet.
          if (
            !/terminated|other side closed|ECONN|UND_ERR|aborted/i.test(
              String(error) + (error as { code?: string }).code,
            )
          )
            throw error;
        }
        this.reconnections++;
        await app;
      }
    };
    follow().catch(began.reject);
    await began.promise;
  }

  stop(): void {
    this.#over.abort();
  }

  /** Resolves when that many events of a kind have come. */
  async has(kind: string, count: number): Promise<void> {
    while (this.told.filter((event) => event.kind === kind).length < count)
      await new Promise<void>((resolve) => {
        this.#onTold = resolve;
      });
  }

  async #connect(last: string | undefined): Promise<AsyncGenerator<Frame, void>> {
    const { statusCode, body } = await request(installer + this.#path, {
      headers: {
        ...{ authorization: `Bearer ${this.#token}`, accept: 'text/event-stream' },
        ...(last === undefined ? {} : { 'last-event-id': last }),
      },
      signal: this.#over.signal,
      bodyTimeout: 0,
    });
    if (statusCode === 200) return framesOf(body);
    const text = await body.text();
    if (statusCode !== 503) throw new Error(`the stream was refused: ${statusCode} ${text}`);
    return framesOf(Readable.from([]));
  }

  #note({ id, event, data }: Frame): void {
    if (data === undefined) return;
    this.told.push({ id: Number(id), kind: event ?? '', dataset: (data as { datasetId: string }).datasetId });
    this.#onTold();
  }
}

/** Uploads until there are that many; an upload without an answer is made again, and may exist all the same. */
async function uploadAll(token: string, next: () => boolean): Promise<void> {
  while (next()) {
    for (let accepted = false; !accepted; ) {
      const now = app;
      try {
        await new Api((await now).endpoints.installer, token).upload(detailsOf('genelist'), [FILE]);
        accepted = true;
      } catch (error) {
        if (now === app && !/503|fetch failed/.test(String(error))) throw error;
      }
    }
  }
}

const idsOf = (user: string): Promise<readonly string[]> =>
  withCache(dir, async (cache) => {
    const { rows } = await cache.query<{ id: string }>(
      'select dataset_id as id from dataset where owner_id = $1 order by 1',
      [user],
    );
    return rows.map(({ id }) => id);
  });

t.test('each stream has each event once and in order, whatever is killed', async (t) => {
  const users = Array.from({ length: Math.ceil(STREAMS / STREAMS_PER_USER) }, (_, n) => String(21 + n));
  const token = new Map(await Promise.all(users.map(async (user) => [user, await (await app).token(user)] as const)));
  const clients = Array.from({ length: STREAMS }, (_, n) => {
    const user = users[n % users.length] ?? '';
    return { user, client: new Client(token.get(user) ?? '', '/events') };
  });
  for (const { client } of clients) await client.start();
  t.teardown(() => {
    for (const { client } of clients) client.stop();
  });

  let left = DATASETS;
  const next = (): boolean => left-- > 0;
  const uploads = Promise.all(
    users.flatMap((user) => Array.from({ length: AT_ONCE }, () => uploadAll(token.get(user) ?? '', next))),
  );
  uploads.catch(() => undefined);
  const [first] = clients;
  const share = Math.floor(DATASETS / users.length / (KILLS + 2));
  for (let kill = 1; kill <= KILLS; kill++) {
    await Promise.race([
      first?.client.has('installed', kill * share),
      uploads.then(() => new Promise(() => undefined)),
    ]);
    const killed = await app;
    app = (async () => {
      await killed.crash();
      return up(t, dir, args);
    })();
    await app;
  }
  await uploads;

  for (const { user, client } of clients) {
    const ids = await idsOf(user);
    await client.has('installed', ids.length);
  }
  // Nothing comes after the end of everything: one more event of each user is the mark.
  for (const user of users) {
    const [id] = await idsOf(user);
    t.equal(await new Api(installer, token.get(user) ?? '').send('DELETE', `/datasets/${id}`), 204);
  }
  for (const { client } of clients) await client.has('deleted', 1);

  const whole = new Map<string, readonly Told[]>();
  for (const { user, client } of clients) {
    const { told } = client;
    const ordered = told.every(({ id }, n) => n === 0 || (told[n - 1]?.id ?? 0) < id);
    t.ok(ordered, 'in order');
    t.strictSame(told, whole.get(user) ?? told, 'the same as other streams of the user');
    whole.set(user, told);
  }
  let events = 0;
  for (const user of users) {
    const lives = Object.groupBy(whole.get(user) ?? [], ({ dataset }) => dataset);
    t.same(Object.keys(lives).sort(), await idsOf(user), 'all datasets of the user, and no other');
    for (const [dataset, life = []] of Object.entries(lives)) {
      events += life.length;
      t.same(
        life.map(({ kind }) => kind).filter((kind) => kind !== 'deleted'),
        LIFE,
        dataset,
      );
    }
  }
  const reconnections = clients.reduce((sum, { client }) => sum + client.reconnections, 0);
  t.comment(`${STREAMS} streams, ${events} events, ${KILLS} kills, ${reconnections} reconnections`);
  t.ok(reconnections >= STREAMS * KILLS);
});
