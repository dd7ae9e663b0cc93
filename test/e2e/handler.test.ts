// The handler service of the real program: its sample command, a kill -9 in the middle of a run, a full house.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetch, type Response } from 'undici';
import { zipOf } from '../fixtures/archives.ts';
import { bytesOf, untar } from '../http/handler/handler-app.ts';
import { freePortBase, tempDir, type Up, up } from '../support/longshore.ts';

const METADATA = { projects: ['AlphaDB'], owner: 42, name: 'My data' };

class Handler {
  readonly #base: string;

  constructor({ endpoints }: Up) {
    this.#base = endpoints.handler;
  }

  get(path: string): Promise<Response> {
    return fetch(this.#base + path);
  }

  async put(id: string, owner = METADATA.owner): Promise<void> {
    const response = await fetch(`${this.#base}/job/${id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...METADATA, owner }),
    });
    if (response.status !== 204) throw new Error(`PUT ${id}: ${response.status} ${await response.text()}`);
  }

  post(id: string, body: Buffer): Promise<Response> {
    return fetch(`${this.#base}/job/${id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/binary' },
      body,
    });
  }

  async status(id: string): Promise<Record<string, unknown>> {
    return (await (await this.get(`/job/${id}/status`)).json()) as Record<string, unknown>;
  }
}

/** Runs in the place of the sample command until the next start: waits for a line of the fifo named by its input. */
async function block(dir: string): Promise<void> {
  const script = `#!/bin/sh\necho $$ > "${dir}/pid-$1"\nread line < "${dir}/fifo-$1"\nmkdir output\necho "$line" > output/line\n`;
  await writeFile(join(dir, 'handler', 'copy-inputs'), script, { mode: 0o755 });
}

const workspaces = (dir: string): Promise<string[]> => readdir(join(dir, 'scratch', 'handler', 'work'));

/** Not gone, and no zombie that nobody here has to bury. */
const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** Opens once the command has opened its side. */
async function release(dir: string, name: string): Promise<void> {
  const writer = await open(join(dir, `fifo-${name}`), 'w');
  await writer.write(`to ${name}\n`);
  await writer.close();
}

async function start(t: Test, dir: string, base: string): Promise<{ app: Up; handler: Handler }> {
  const app = await up(t, dir, ['--port-base', base]);
  t.equal(app.endpoints.handler, `http://127.0.0.1:${Number(base) + 1}`);
  return { app, handler: new Handler(app) };
}

t.test('a dataset goes in and comes back; the result outlives a restart', async (t) => {
  const [dir, base] = [await tempDir(t), String(await freePortBase())];
  const { app, handler } = await start(t, dir, base);
  await handler.put('first');
  t.match(await handler.status('first'), { status: 'awaiting upload', size: 0, duration: '0s', userId: 42 });
  const archive = await zipOf({ 'a.txt': 'alpha', 'folder/b.txt': 'beta' });
  const response = await handler.post('first', archive);
  t.equal(response.status, 200);
  const bytes = await bytesOf(response);
  const { 'meta.json': _meta, 'dataset.json': _dataset, ...data } = await untar(bytes);
  t.strictSame(data, { 'datafiles/a.txt': 'alpha', 'datafiles/folder/b.txt': 'beta' });
  t.match(await handler.status('first'), { status: 'job completed', size: archive.length });
  t.strictSame(await workspaces(dir), []);

  await handler.put('empty');
  const refused = await handler.post('empty', await zipOf({ 'a.txt': '' }));
  t.equal(refused.status, 422);
  t.match(await refused.json(), { errors: { general: ['all files of the upload are empty'], byKey: {} } });

  t.match(await (await handler.get('/config')).json(), { serviceName: 'sample-handler', port: Number(base) + 1 });
  const health = await handler.get('/health');
  t.equal(health.status, 200);
  t.match(await health.json(), { stats: { byStatus: { 204: 2, 422: 1 }, largest: archive.length } });
  t.match(await (await handler.get('/metrics')).text(), 'longshore_handler_jobs_total{outcome="completed"} 1');
  t.match((await handler.get('/api')).headers.get('content-type'), 'text/html');
  t.equal(await app.stop(), 0);

  const { app: again, handler: next } = await start(t, dir, base);
  t.strictSame(await bytesOf(await next.get('/job/first/result')), bytes);
  t.match(await (await next.get('/health')).json(), { stats: { byStatus: { 204: 2, 422: 1 } } }, 'kept');
  t.equal(await again.stop(), 0);
});

t.test('a kill -9 during a run: the job has failed, its command is dead, its id works again', async (t) => {
  const [dir, base] = [await tempDir(t), String(await freePortBase())];
  const { app, handler } = await start(t, dir, base);
  await block(dir);
  execFileSync('mkfifo', [join(dir, 'fifo-input')]);
  const archive = await zipOf({ input: 'x' });
  await handler.put('cut');
  const lost = handler.post('cut', archive).then(
    () => 'answered',
    () => 'lost',
  );
  while (!existsSync(join(dir, 'pid-input'))) await handler.status('cut');
  t.match(await handler.status('cut'), { status: 'processing uploaded files', size: archive.length });
  const pid = Number(await readFile(join(dir, 'pid-input'), 'utf8'));
  t.equal((await workspaces(dir)).length, 1);
  await app.crash();
  t.equal(await lost, 'lost');
  t.ok(isAlive(pid), 'the command outlived the program');

  const { app: again, handler: next } = await start(t, dir, base);
  t.notOk(isAlive(pid), 'it is dead before anything is taken');
  t.match(await next.status('cut'), {
    status: 'job failed',
    message: 'the job was aborted: its process was killed',
  });
  t.strictSame(await workspaces(dir), []);
  t.equal((await next.get('/job/cut/result')).status, 404);
  await next.put('cut');
  const response = await next.post('cut', archive);
  t.equal(response.status, 200);
  t.equal((await untar(await bytesOf(response)))['datafiles/input'], 'x');
  t.equal(await again.stop(), 0);
});

t.test('a stop during a run: the job has failed with the reason, and the stop is not held up', async (t) => {
  const [dir, base] = [await tempDir(t), String(await freePortBase())];
  const first = await up(t, dir, ['--port-base', base]);
  t.equal(await first.stop(), 0);
  const config = join(dir, 'config.yaml');
  const text = await readFile(config, 'utf8');
  await writeFile(config, text.replace('containerCore:\n', 'containerCore:\n  shutdownGrace: 3s\n'));

  const { app, handler } = await start(t, dir, base);
  await block(dir);
  execFileSync('mkfifo', [join(dir, 'fifo-input')]);
  await handler.put('stopped');
  const answer = handler.post('stopped', await zipOf({ input: 'x' })).then(
    ({ status }) => status,
    () => 0,
  );
  while (!existsSync(join(dir, 'pid-input'))) await handler.status('stopped');
  const pid = Number(await readFile(join(dir, 'pid-input'), 'utf8'));
  t.equal(await app.stop(), 0);
  t.notOk(isAlive(pid), 'its command has ended');
  t.ok([500, 503].includes(await answer), `answered ${await answer}`);
  const { app: again, handler: next } = await start(t, dir, base);
  t.match(await next.status('stopped'), { status: 'job failed', message: /^the job was cut off: / });
  t.strictSame(await workspaces(dir), []);
  t.equal(await again.stop(), 0);
});

t.test('20 jobs are taken and 4 run, the 21st is told to come again', async (t) => {
  const [dir, base] = [await tempDir(t), String(await freePortBase())];
  const { app, handler } = await start(t, dir, base);
  await block(dir);
  const names = Array.from({ length: 21 }, (_, n) => `job-${n}`);
  for (const [n, name] of names.entries()) {
    execFileSync('mkfifo', [join(dir, `fifo-${name}`)]);
    // One owner alone would leave half of the places to others.
    await handler.put(name, 100 + n);
  }
  const taken = names.slice(0, 20);
  const answers = new Map<string, Promise<Response>>();
  for (const name of taken) {
    answers.set(name, handler.post(name, await zipOf({ [name]: 'x' })));
  }
  const inState = async (state: string): Promise<string[]> => {
    const states = await Promise.all(taken.map(async (name) => (await handler.status(name)).status));
    return taken.filter((_, i) => states[i] === state);
  };
  const running = (): Promise<string[]> => inState('processing uploaded files');
  while ((await running()).length < 4 || (await inState('awaiting upload')).length > 0);
  const refused = await handler.post('job-20', await zipOf({ 'job-20': 'x' }));
  t.equal(refused.status, 503);
  t.equal(refused.headers.get('retry-after'), '10');
  t.match(await refused.json(), { message: 'all 20 places for jobs are taken; try again' });
  t.equal((await running()).length, 4);
  t.match(await (await handler.get('/health')).json(), { status: 'degraded' });
  t.match(await (await handler.get('/metrics')).text(), 'longshore_handler_places{state="free"} 0');

  while (answers.size > 0) {
    const now = await running();
    t.ok(now.length <= 4, now.join());
    const [name] = now;
    const answer = name === undefined ? undefined : answers.get(name);
    if (name === undefined || !answer) continue;
    await release(dir, name);
    const response = await answer;
    t.equal(response.status, 200, name);
    t.equal((await untar(await bytesOf(response)))['datafiles/line'], `to ${name}\n`);
    answers.delete(name);
  }
  const late = handler.post('job-20', await zipOf({ 'job-20': 'x' }));
  await release(dir, 'job-20');
  t.equal((await late).status, 200);
  t.strictSame(await workspaces(dir), []);
  t.equal(await app.stop(), 0);
});
