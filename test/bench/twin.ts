// The honest twin of the installer, for one case: a data set is uploaded, imported, and installed on two targets. The plainest
// code that keeps the same promises. What the product loses against it is what the product's framework costs.
//   - an upload is answered 202 once its file, its metadata and its row are on disk
//   - a script works on a copy, so that a broken one cannot harm what is stored
//   - each step is committed when it is done; after a crash the next start goes on with what is not complete
//   - the sites' control schemas get the rows that the product writes there

import { execFile } from 'node:child_process';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { cp, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import busboy from 'busboy';
import pg from 'pg';
import { listensOn } from './program.ts';

export interface TwinOptions {
  readonly dir: string;
  readonly secret: string;
  readonly postgres: { readonly host: string; readonly port: number; readonly user: string; readonly password: string };
  /** Databases: of the statuses, and of each target's control schema. */
  readonly database: string;
  readonly targets: readonly string[];
  readonly scripts: Readonly<Record<'dataCleaning' | 'dataInstall' | 'metaUpdate', string>>;
}

interface Details {
  readonly name: string;
  readonly summary: string;
  readonly installTargets: readonly string[];
  readonly type: { readonly name: string; readonly version: string };
}

interface Dataset {
  readonly id: string;
  readonly owner: string;
  readonly details: Details;
  readonly created: Date;
}

/** Datasets in work at once: as many as the product runs scripts on two cores. */
const AT_ONCE = 4;
const run = promisify(execFile);

export const twinToken = (user: string, secret: string): string =>
  `${user}.${createHmac('sha256', secret).update(user).digest('hex')}`;

if (import.meta.main) await main(JSON.parse(process.argv[3] ?? '') as TwinOptions);

async function main({ dir, secret, postgres, database, targets, scripts }: TwinOptions): Promise<void> {
  const pool = (name: string): pg.Pool => new pg.Pool({ ...postgres, database: name, max: 8 });
  const statuses = pool(database);
  const sites = new Map(targets.map((target) => [target, pool(target.toLowerCase())]));
  const folder = ({ owner, id }: Dataset): string => join(dir, 'store', owner, id);
  await mkdir(join(dir, 'work'), { recursive: true });

  const waiting: Dataset[] = [];
  let running = 0;
  const enqueue = (dataset: Dataset): void => {
    waiting.push(dataset);
    if (running < AT_ONCE) void work();
  };
  const work = async (): Promise<void> => {
    running++;
    for (let next = waiting.shift(); next; next = waiting.shift()) await process(next).catch(end);
    running--;
  };
  const process = async (dataset: Dataset): Promise<void> => {
    const { rows } = await statuses.query('select import_status from dataset where dataset_id = $1', [dataset.id]);
    if (rows[0].import_status !== 'complete') await importData(dataset);
    await Promise.all(
      targets.map(async (target) => {
        await install(dataset, target, 'meta');
        await install(dataset, target, 'data');
      }),
    );
    await rm(join(dir, 'work', dataset.id), { recursive: true, force: true });
  };

  const accept = async (request: IncomingMessage): Promise<string> => {
    const owner = userOf(request, secret);
    const id = randomBytes(10).toString('hex');
    const at = join(dir, 'store', owner, id);
    await mkdir(join(at, 'upload'), { recursive: true });
    const { details, files } = await receive(request, join(at, 'upload'));
    if (files === 0 || !details.installTargets.every((target) => sites.has(target))) throw new Error('not accepted');
    const dataset: Dataset = { id, owner, details, created: new Date() };
    await writeSynced(join(at, 'meta.json'), JSON.stringify({ ...details, owner, created: dataset.created }));
    for (const made of [join(at, 'upload'), at, join(dir, 'store', owner), join(dir, 'store')]) await sync(made);
    await statuses.query('insert into dataset (dataset_id, owner, details, created) values ($1, $2, $3, $4)', [
      ...[id, owner, details, dataset.created],
    ]);
    enqueue(dataset);
    return id;
  };

  const importData = async (dataset: Dataset): Promise<void> => {
    const [at, scratch] = [folder(dataset), join(dir, 'work', dataset.id, 'import')];
    const [input, output] = [join(scratch, 'input'), join(scratch, 'output')];
    await rm(scratch, { recursive: true, force: true });
    await mkdir(output, { recursive: true });
    await cp(join(at, 'upload'), input, { recursive: true });
    await run(scripts.dataCleaning, [input, output], { cwd: scratch, env: { ...base, VDI_ID: dataset.id } });
    const files = await readdir(output);
    for (const file of files) await sync(join(output, file));
    await writeSynced(join(at, 'manifest.json'), JSON.stringify({ files }));
    await rm(join(at, 'install'), { recursive: true, force: true });
    await rename(output, join(at, 'install'));
    await sync(join(at, 'install'));
    await sync(at);
    await statuses.query(`update dataset set import_status = 'complete' where dataset_id = $1`, [dataset.id]);
  };

  const install = async (dataset: Dataset, target: string, kind: 'meta' | 'data'): Promise<void> => {
    const [at, scratch] = [folder(dataset), join(dir, 'work', dataset.id, `${target}-${kind}`)];
    const files = join(dir, 'sites', target, dataset.id);
    const env = {
      ...{ ...base, VDI_ID: dataset.id, PROJECT_ID: target, DATA_FILES: files, DB_PLATFORM: 'Postgres' },
      ...{ DB_HOST: postgres.host, DB_PORT: String(postgres.port), DB_NAME: target.toLowerCase() },
      ...{ DB_USER: postgres.user, DB_PASS: postgres.password, DB_SCHEMA: 'control' },
    };
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true });
    if (kind === 'meta') {
      await cp(join(at, 'meta.json'), join(scratch, 'meta.json'));
      await run(scripts.metaUpdate, [dataset.id, join(scratch, 'meta.json'), scratch], { cwd: scratch, env });
    } else {
      await mkdir(join(dir, 'sites', target), { recursive: true });
      await rm(files, { recursive: true, force: true });
      await cp(join(at, 'install'), join(scratch, 'install'), { recursive: true });
      await run(scripts.dataInstall, [dataset.id, join(scratch, 'install')], { cwd: scratch, env });
    }
    const site = await sites.get(target)?.connect();
    if (!site) throw new Error(`no target ${target}`);
    try {
      await site.query('begin');
      if (kind === 'meta') await writeSite(site, dataset, target);
      await site.query(
        `insert into dataset_install_message (dataset_id, target_id, install_type, status) values ($1, $2, $3, 'complete')
         on conflict (dataset_id, target_id, install_type) do update set status = excluded.status, updated = now()`,
        [dataset.id, target, kind],
      );
      await site.query(
        `insert into sync_control (dataset_id, target_id, part, modified, etag) values ($1, $2, $3, now(), $1)
         on conflict (dataset_id, target_id, part) do update set modified = excluded.modified`,
        [dataset.id, target, kind],
      );
      await site.query('commit');
    } finally {
      site.release();
    }
    await statuses.query(
      `insert into install_status (dataset_id, target_id, kind, status) values ($1, $2, $3, 'complete')
       on conflict (dataset_id, target_id, kind) do update set status = excluded.status`,
      [dataset.id, target, kind],
    );
  };

  const unfinished = await statuses.query<{ id: string; owner: string; details: Details; created: Date }>(
    `select dataset_id as id, owner, details, created from dataset d where $1 >
       (select count(*) from install_status i where i.dataset_id = d.dataset_id) order by created`,
    [targets.length * 2],
  );
  for (const dataset of unfinished.rows) enqueue(dataset);
  const server = createServer((request, response) => {
    accept(request).then(
      (datasetId) => response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ datasetId })),
      (error: unknown) => response.writeHead(400).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1', () => listensOn((server.address() as { port: number }).port));
}

const base = { PATH: process.env.PATH, LANG: 'C.UTF-8' };

function end(error: unknown): never {
  console.error(error);
  process.exit(1);
}

function userOf(request: IncomingMessage, secret: string): string {
  const token = Buffer.from(request.headers.authorization?.replace('Bearer ', '') ?? '');
  const user = token.toString().split('.')[0] ?? '';
  const expected = Buffer.from(twinToken(user, secret));
  if (token.length !== expected.length || !timingSafeEqual(token, expected)) throw new Error('who are you?');
  return user;
}

async function receive(request: IncomingMessage, folder: string): Promise<{ details: Details; files: number }> {
  const parser = busboy({ headers: request.headers, fileHwm: 1024 ** 2 });
  const writing: Promise<void>[] = [];
  let details: Details | undefined;
  parser.on('file', (name, body, { filename }) => {
    if (name === 'details')
      writing.push(
        body.toArray().then((chunks: Buffer[]) => {
          details = JSON.parse(Buffer.concat(chunks).toString()) as Details;
        }),
      );
    else
      writing.push(pipeline(body, createWriteStream(join(folder, filename ?? 'file'), { flags: 'wx', flush: true })));
  });
  await pipeline(request, parser);
  await Promise.all(writing);
  if (!details) throw new Error('no details');
  return { details, files: writing.length - 1 };
}

async function writeSite(site: pg.PoolClient, dataset: Dataset, target: string): Promise<void> {
  const { id, owner, details } = dataset;
  await site.query(
    `insert into dataset (dataset_id, owner, type_name, type_version, category, deleted_status, accessibility,
       days_for_approval, creation_date, lease_token, original_id) values ($1, $2, $3, $4, '', 0, 'private', -1, $5, 1, $1)
     on conflict do nothing`,
    [id, owner, details.type.name, details.type.version, dataset.created],
  );
  await site.query(
    `insert into dataset_install (dataset_id, target_id, accessibility) values ($1, $2, 'private') on conflict do nothing`,
    [id, target],
  );
  await site.query(
    `insert into dataset_project (dataset_id, project_id, project_display_name) values ($1, $2, $2) on conflict do nothing`,
    [id, target],
  );
  await site.query('insert into dataset_visibility (user_id, dataset_id) values ($1, $2) on conflict do nothing', [
    ...[owner, id],
  ]);
  await site.query(
    `insert into dataset_meta (dataset_id, name, short_name, summary) values ($1, $2, $2, $3) on conflict do nothing`,
    [id, details.name, details.summary],
  );
}

async function writeSynced(path: string, text: string): Promise<void> {
  await writeFile(`${path}.part`, text, { flush: true });
  await rename(`${path}.part`, path);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}
