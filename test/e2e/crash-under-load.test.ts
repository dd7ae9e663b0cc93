// kill -9 again and again while users upload, each time after another number of lines of the log: somewhere between the
// acceptance of one dataset and the end of another's install. In the end every dataset is as one that met no kill.

import { randomInt } from 'node:crypto';
import { readFileSync, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { SeededRandom } from '../simulation/random.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, processesBelow, tempDir, type Up, up } from '../support/longshore.ts';
import { filesBelow, SITES, withCache } from '../support/places.ts';
import { settled, swept, wholeState } from '../support/site-state.ts';

const USERS = ['12', '13', '14'];
/** Uploads at a time, of each user. */
const AT_ONCE = 2;
const KILLS = 5;
/** One dataset writes about a dozen. */
const MOST_LINES = 80;
const FILE = { name: 'genes.txt', content: geneList(250) };
const SEED = Number(process.env.LONGSHORE_CRASH_SEED ?? randomInt(2 ** 32));

/** Resolves once the file has so many more lines than now. */
async function grown(file: string, lines: number): Promise<void> {
  const count = (): number => readFileSync(file, 'utf8').split('\n').length;
  const enough = Promise.withResolvers<void>();
  const wanted = count() + lines;
  const watcher = watch(file, () => {
    if (count() >= wanted) enough.resolve();
  });
  try {
    await enough.promise;
  } finally {
    watcher.close();
  }
}

/** The program that runs now, while others are killed. */
class Service {
  #now: Promise<Up>;
  #over = false;

  constructor(first: Up) {
    this.#now = Promise.resolve(first);
  }

  get now(): Promise<Up> {
    return this.#now;
  }

  /** Of the user with this token, until {@link stopUploads}. An upload without an answer is another one's to make good. */
  async uploads(token: string): Promise<readonly string[]> {
    const accepted: string[] = [];
    while (!this.#over) {
      const now = this.#now;
      try {
        const api = new Api((await now).endpoints.installer, token);
        while (!this.#over && now === this.#now) accepted.push(await api.upload(detailsOf('genelist'), [FILE]));
      } catch (error) {
        if (now === this.#now) throw error;
      }
    }
    return accepted;
  }

  stopUploads(): void {
    this.#over = true;
  }

  /** Kills the program, with `all` also its database and every script, and starts it again on what they left. */
  async crash(all: boolean, again: () => Promise<Up>): Promise<void> {
    const app = await this.#now;
    const started = Promise.withResolvers<Up>();
    this.#now = started.promise;
    const others = all ? processesBelow(app.dir).filter((pid) => pid !== app.child.pid) : [];
    await app.crash();
    for (const pid of others)
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended with the program.
      }
    await again().then(started.resolve, started.reject);
    await this.#now;
  }
}

const idsOf = (dir: string, user: string): Promise<readonly string[]> =>
  withCache(dir, async (cache) => {
    const { rows } = await cache.query<{ id: string }>(
      'select dataset_id as id from dataset where owner_id = $1 order by 1',
      [user],
    );
    return rows.map(({ id }) => id);
  });

t.test('killed again and again under a load of uploads, it loses no dataset and installs none twice', async (t) => {
  t.comment(`LONGSHORE_CRASH_SEED=${SEED}`);
  const random = new SeededRandom(SEED, 'kills');
  const dir = await tempDir(t);
  const args = ['--port-base', String(await freePortBase())];
  const app = await up(t, dir, args);
  const service = new Service(app);
  const untouched = new Map<string, unknown>();
  const uploads: Promise<readonly string[]>[] = [];
  const tokens = await Promise.all(USERS.map((user) => app.token(user)));
  for (const [n, user] of USERS.entries()) {
    const id = await new Api(app.endpoints.installer, tokens[n] ?? '').upload(detailsOf('genelist'), [FILE]);
    await settled(dir);
    untouched.set(user, await wholeState(dir, user, id, 'genelist'));
  }
  for (const token of tokens) for (let n = 0; n < AT_ONCE; n++) uploads.push(service.uploads(token));
  // Whatever ends the test ends them.
  const uploaded = Promise.all(uploads);
  uploaded.catch(() => undefined);
  for (let n = 0; n < KILLS; n++) {
    await Promise.race([grown(join(dir, 'longshore.log'), random.between(1, MOST_LINES)), uploaded]);
    await service.crash(random.chance(1 / 3), () => up(t, dir, args));
  }
  service.stopUploads();
  const accepted = (await uploaded).flat();
  await settled(dir);
  await swept(dir);

  const all: string[] = [];
  for (const user of USERS) {
    const ids = await idsOf(dir, user);
    all.push(...ids);
    for (const id of ids)
      t.same(await wholeState(dir, user, id, 'genelist'), untouched.get(user), `dataset ${id} of user ${user}`);
    const folders = (await filesBelow(join(dir, 'objects', 'objects', user))).map((key) => key.split('/')[0] ?? '');
    t.same([...new Set(folders)].sort(), [...ids].sort(), `datasets with objects of user ${user}`);
  }
  const lost = accepted.filter((id) => !all.includes(id));
  t.same(lost, [], `all of the ${accepted.length} accepted datasets are there`);
  t.ok(accepted.length >= KILLS, 'there was a load');
  for (const site of SITES)
    t.same((await readdir(join(dir, 'sites', site))).sort(), [...all].sort(), `nothing else lies on ${site}`);
  await (await service.now).stop();
  t.same(processesBelow(dir), []);
});
