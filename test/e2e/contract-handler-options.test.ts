// The contract of handler jobs on the running program: the root key `handler` of the configuration, key by key: what `config check` takes
// and refuses, what `config print` says is the default, and what the key does to a service that runs with it.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { handlerWorld, metadata, pathOf } from '../contract/handler-world.ts';
import { held } from '../contract/held.ts';
import { type Files, zipOf } from '../fixtures/archives.ts';
import { longshore } from '../support/longshore.ts';
import { withCache } from '../support/places.ts';

const TOKEN = 'token-of-the-handler-0123456789-abcdef';
const MIB = 1_048_576;
const workspace = join(t.testdir(), 'workspace');
await mkdir(workspace);
const at = await handlerWorld(t, {
  commands: [{ command: '/bin/sh', arguments: ['-eu', 'run.sh', '<<input-files[1]>>'] }],
  token: TOKEN,
  workspace,
  maxUnpackedSize: MIB,
  lane: { inMemoryQueueSize: 1, workerCount: 1 },
  resultRetention: '5h',
  historyRetention: '50h',
  anything: { at: ['all'] },
});
const { client, dir, row } = at;
const caller = at.as({ authorization: `Bearer ${TOKEN}` });
const COPY = { 'a.txt': 'a', 'run.sh': 'mkdir output; cp "$1" output/' };
const put = (id: string, changes: object = {}) => caller.send('PUT', pathOf(id), metadata(changes));
const post = async (id: string, files: Files) =>
  caller.call('POST', pathOf(id), { headers: { 'content-type': 'application/zip' }, body: await zipOf(files) });
const job = async (id: string, files: Files, changes: object = {}) => {
  await put(id, changes);
  return post(id, files);
};

interface Handler extends Record<string, unknown> {
  commands: Record<string, unknown>[];
}
/** The file of the running service with another `handler`. */
async function configured(change: (handler: Handler) => void): Promise<string> {
  const document = parse(await readFile(join(dir, 'config.yaml'), 'utf8')) as {
    readonly handler: Handler;
    readonly containerCore: { readonly ports: { handler?: number } };
  };
  // It would have to be the same.
  delete document.containerCore.ports.handler;
  change(document.handler);
  const file = join(dir, 'changed.yaml');
  await writeFile(file, stringify(document), { mode: 0o600 });
  return file;
}
const set =
  (keys: Readonly<Record<string, unknown>>) =>
  (handler: Handler): void => {
    for (const [key, value] of Object.entries(keys)) {
      if (value === undefined) delete handler[key];
      else handler[key] = value;
    }
  };
const setCommand =
  (keys: Readonly<Record<string, unknown>>) =>
  (handler: Handler): void =>
    set(keys)(handler.commands[0] as Handler);

async function taken(t: Test, change: (handler: Handler) => void): Promise<void> {
  const { code, stderr } = await longshore(['config', 'check', await configured(change)]);
  t.equal(code, 0, stderr);
}
async function refused(t: Test, change: (handler: Handler) => void, fault: string | RegExp): Promise<void> {
  const { code, stderr } = await longshore(['config', 'check', await configured(change)]);
  t.equal(code, 3);
  t.match(stderr, fault);
  t.equal(stderr.trimEnd().split('\n').length, 1, stderr);
}
/** What is there without the keys. */
async function printed(change: (handler: Handler) => void): Promise<Handler> {
  const { stdout } = await longshore(['config', 'print', await configured(change)]);
  return (parse(stdout) as { handler: Handler }).handler;
}

for (const key of ['serviceName', 'configPath'] as const)
  row(`handler/configuration/${key}`, async (t) => {
    await refused(t, set({ [key]: undefined }), new RegExp(`handler\\.${key}: .*missing|handler.*'?${key}'?`));
    await refused(t, set({ [key]: 5 }), `handler.${key}: `);
    await refused(t, set({ [key]: '' }), `handler.${key}: `);
    t.type(((await client.get('/config')).body as Handler)[key], 'string');
  });
row('handler/configuration/port', async (t) => {
  for (const port of [79, 65_536, 80.5, '8081']) await refused(t, set({ port }), 'handler.port: ');
  for (const port of [80, 65_535]) await taken(t, set({ port }));
  await refused(t, set({ port: undefined }), /handler.*port/);
});
row('handler/configuration/commands', async (t) => {
  await refused(t, set({ commands: [] }), 'handler.commands: ');
  await refused(t, set({ commands: '/bin/sh' }), 'handler.commands: ');
  await refused(t, set({ commands: undefined }), /handler.*commands/);
});
row('handler/configuration/commands[].command', async (t) => {
  await refused(t, setCommand({ command: undefined }), /handler\.commands\[0\].*command/);
  await refused(t, setCommand({ command: '/no/such/program' }), 'handler.commands[0].command: ');
  await taken(t, setCommand({ command: 'sh' }));
});
row('handler/configuration/commands[].arguments', async (t) => {
  await refused(t, setCommand({ arguments: undefined }), /handler\.commands\[0\].*arguments/);
  await refused(t, setCommand({ arguments: 'a' }), 'handler.commands[0].arguments: ');
  await refused(t, setCommand({ arguments: [1] }), 'handler.commands[0].arguments[0]: ');
  await taken(t, setCommand({ arguments: [] }));
});
row('handler/configuration/extra properties', async (t) => {
  await taken(t, set({ more: { of: ['anything'] } }));
  t.strictSame((await printed(() => undefined)).anything, { at: ['all'] });
});
row('handler/configuration/commands[].maxDuration', async (t) => {
  await refused(t, setCommand({ maxDuration: '0s' }), 'handler.commands[0].maxDuration: ');
  await refused(t, setCommand({ maxDuration: 'soon' }), 'handler.commands[0].maxDuration: ');
  t.equal((await printed(() => undefined)).commands[0]?.maxDuration, '1h');
});
row('handler/configuration/maxUnpackedSize', async (t) => {
  await refused(t, set({ maxUnpackedSize: MIB - 1 }), 'handler.maxUnpackedSize: ');
  t.equal((await printed(set({ maxUnpackedSize: undefined }))).maxUnpackedSize, 5 * 1024 * MIB);
  const sized = (bytes: number): Files => ({
    ...COPY,
    'a.txt': '',
    'pad.bin': Buffer.alloc(bytes - COPY['run.sh'].length, 'ab\n'),
  });
  t.equal((await job('fits', sized(MIB))).status, 200);
  const { status, body } = await job('more', sized(MIB + 1));
  t.equal(status, 400);
  t.match(body, { message: /unpacks to more than the 1048576 bytes allowed/ });
});
row('handler/configuration/passEnvironment', async (t) => {
  await refused(t, set({ passEnvironment: ['A B'] }), 'handler.passEnvironment[0]: ');
  await refused(t, set({ passEnvironment: ['A', 'A'] }), 'handler.passEnvironment: ');
  t.strictSame((await printed(() => undefined)).passEnvironment, []);
});
for (const [key, most, usual] of [
  ['inMemoryQueueSize', 100, 16],
  ['workerCount', 20, 4],
] as const)
  row(`handler/configuration/lane.${key}`, async (t) => {
    for (const value of [0, most + 1, 1.5]) await refused(t, set({ lane: { [key]: value } }), `handler.lane.${key}: `);
    await taken(t, set({ lane: { [key]: most } }));
    t.equal(((await printed(set({ lane: undefined }))).lane as Record<string, unknown>)[key], usual);
  });
for (const [key, column, hours, usual] of [
  ['resultRetention', 'result_expires_at', 5, '24h'],
  ['historyRetention', 'expires_at', 50, '72h'],
] as const)
  row(`handler/configuration/${key}`, async (t) => {
    await refused(t, set({ [key]: '0s' }), `handler.${key}: `);
    t.equal((await printed(set({ [key]: undefined })))[key], usual);
    t.equal((await job('kept', COPY)).status, 200);
    const [kept] = await withCache(
      dir,
      async (cache) =>
        (
          await cache.query(
            `select extract(epoch from ${column} - ended_at)::int as seconds from handler_job where job_id = 'kept'`,
          )
        ).rows,
    );
    t.strictSame(kept, { seconds: hours * 3_600 });
  });
row('handler/configuration/token', async (t) => {
  await refused(t, set({ token: 'x'.repeat(15) }), 'handler.token: ');
  t.notOk('token' in (await printed(set({ token: undefined }))));
  t.not((await printed(() => undefined)).token, TOKEN, 'never shown');
  t.equal((await put('mine')).status, 204);
  for (const path of ['/config', '/health', '/metrics', '/api']) t.equal((await client.get(path)).status, 200, path);
});
row('handler/configuration/bindHost', async (t) => {
  t.equal((await printed(set({ token: undefined }))).bindHost, '127.0.0.1');
  await refused(t, set({ bindHost: 'no host' }), 'handler.bindHost: ');
});
row('handler/configuration/workspace', async (t) => {
  await taken(t, set({ workspace: join(dir, 'absent') }));
  const pipe = held(dir, 'workspace');
  const answer = job('placed', { ...COPY, 'run.sh': `read x < '${pipe.content}'; ${COPY['run.sh']}` });
  await pipe.reached();
  t.match(await readdir(join(workspace, 'work')), [/^job-/]);
  await pipe.release();
  t.equal((await answer).status, 200);
  t.strictSame((await readdir(workspace)).sort(), ['running', 'work']);
  t.strictSame(await readdir(join(workspace, 'work')), []);
});

const CALLS = [
  ['PUT', ''],
  ['POST', ''],
  ['GET', '/status'],
  ['GET', '/result'],
] as const;
for (const id of ['handler/codes/401', 'handler/errors/401'] as const)
  row(id, async (t) => {
    for (const [method, tail] of CALLS)
      for (const authorization of [undefined, 'Bearer wrong', `Basic ${TOKEN}`]) {
        const headers = authorization === undefined ? {} : { authorization };
        const { status, body, headers: given } = await client.call(method, pathOf('x', tail), { headers });
        t.equal(status, 401, `${method} ${tail} ${authorization}`);
        const message = 'the handler service needs its token as Authorization: Bearer';
        t.strictSame(body, { status: 'unauthorized', message });
        t.equal(given.get('www-authenticate'), 'Bearer');
      }
  });

row('handler/template/input file out of range', async (t) => {
  t.equal((await job('two', COPY)).status, 200);
  const { status, body } = await job('one', { 'run.sh': COPY['run.sh'] });
  t.equal(status, 500);
  t.match(body, { message: "there is no input file '1': the upload has 1 at its top level" });
});

row('handler/errors/503', async (t) => {
  const pipes = ['running', 'waiting'].map((id) => held(dir, id));
  const taken = pipes.map(({ content }, n) =>
    job(`place-${n}`, { ...COPY, 'run.sh': `read x < '${content}'; ${COPY['run.sh']}` }, { owner: 1_000 + n }),
  );
  const states = () =>
    Promise.all(
      taken.map(async (_, n) => {
        const { body } = await caller.get(pathOf(`place-${n}`, '/status'));
        return (body as { status: string }).status;
      }),
    );
  const full = ['processing uploaded files', 'uploading files for processing'];
  for (let now = await states(); !full.every((state) => now.includes(state)); now = await states());
  await put('third');
  const { status, body, headers } = await post('third', COPY);
  t.equal(status, 503);
  t.equal(headers.get('retry-after'), '10');
  t.strictSame(body, {
    status: 'server-error',
    message: 'all 2 places for jobs are taken; try again',
    requestId: headers.get('x-request-id'),
  });
  const order = (await states())[0] === full[0] ? pipes : [...pipes].reverse();
  for (const pipe of order) {
    await pipe.reached();
    await pipe.release();
  }
  for (const answer of taken) t.equal((await answer).status, 200);
});
