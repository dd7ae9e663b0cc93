// An installation on a full stack with so many processes, and in place of its brokers and its store what `longshore up` has.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { parse, stringify } from 'yaml';
import { systemClock } from '../../engine/runtime/time.ts';
import { Progress } from '../stack/scale-out/progress.ts';
import { ServeProcess } from '../stack/scale-out/serve-process.ts';
import type { Site } from '../stack/scale-out/site.ts';
import type { Teardowns } from '../stack/scale-out/teardowns.ts';
import { Uploads } from '../stack/scale-out/uploads.ts';
import { testDatabase } from '../support/database.ts';
import { freePort } from '../support/ports.ts';

/** One look is under one in a hundred of a round. */
const LOOK_MS = 250;
/** For one dataset on an idle stack. */
const SHORT_LOOK_MS = 3;
const PATIENCE_MS = 300_000;

const LEFT = `
  select 4 * cardinality($1::text[]) - (select count(*) from installer.install_status
      where dataset_id = any ($1::text[]) and status = 'complete')::integer
    + (select count(*) from installer.job)::integer as n`;

/** What differs from the sample of a full stack; with a cache database of its own. */
const INSTEAD: Readonly<Record<string, (dir: string) => object>> = {
  'no-kafka': () => ({ logBroker: { driver: 'postgres' } }),
  embedded: (dir) => ({
    logBroker: { driver: 'postgres' },
    queueBroker: { driver: 'postgres' },
    objectStore: { driver: 'directory', path: join(dir, 'store') },
  }),
};

export interface Way {
  readonly processes: readonly ServeProcess[];
  /** Uploads so many through all processes, some at once; resolves when all are installed on both targets and nothing is left. */
  installed(datasets: number): Promise<void>;
  /** Uploads one; milliseconds from its first byte until it is installed on both targets. */
  untilInstalled(): Promise<number>;
}

export async function openWay(t: Teardowns, site: Site, name: string, count: number): Promise<Way> {
  const { at, tokens, logDir } = site;
  const instead = INSTEAD[name]?.(at.dir);
  const cache = instead ? await testDatabase(t) : at.cache;
  let configuration = at.file;
  if (instead) {
    const config = parse(await readFile(at.file, 'utf8')) as { installer: object };
    Object.assign(config.installer, instead);
    configuration = join(at.dir, `${name}.yaml`);
    await writeFile(configuration, stringify(config), { mode: 0o600 });
  }
  const processes: ServeProcess[] = [];
  for (let n = 1; n <= count; n++) {
    // The configuration has neither reports nor access.
    const ports = { installer: await freePort(), report: 0, access: 0 };
    const env = { ...at.environment(ports.installer), CACHE_DB_NAME: cache.database };
    const serve = new ServeProcess({ name: `${name}-${n}`, configuration, ports, env, logDir });
    t.teardown(() => serve.kill());
    processes.push(serve);
  }
  const urls = processes.map(({ url }) => url);
  const progress = new Progress(t, cache);
  const sql = new pg.Pool({ ...cache, max: 1 });
  t.teardown(() => sql.end());

  const run = async (datasets: number, lookMs: number): Promise<void> => {
    const uploads = new Uploads({ urls, tokens, count: datasets, spreadOver: 0 });
    await uploads.run();
    if (uploads.wrong.length > 0) throw new Error(`uploads got ${uploads.wrong[0]}`);
    const ids = [...uploads.accepted.values()];
    const left = async (): Promise<number> => (await sql.query({ name: 'left', text: LEFT, values: [ids] })).rows[0].n;
    for (const late = systemClock.now() + PATIENCE_MS; (await left()) > 0; await systemClock.sleep(lookMs))
      if (systemClock.now() > late) throw new Error(`${name} does not end: ${await progress.jobs()}`);
  };
  return {
    processes,
    installed: (datasets) => run(datasets, LOOK_MS),
    async untilInstalled() {
      const begun = performance.now();
      await run(1, SHORT_LOOK_MS);
      return performance.now() - begun;
    },
  };
}
