// The contract of handler jobs on the running program: what a handler job goes through, what its commands get, what it gives back.

import { chmod, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseDuration } from '../../engine/runtime/duration.ts';
import type { Answer } from '../contract/client.ts';
import { handlerWorld, metadata, OWNER, pathOf } from '../contract/handler-world.ts';
import { held } from '../contract/held.ts';
import { zipOf } from '../fixtures/archives.ts';
import { untar } from '../http/handler/handler-app.ts';
import { processesBelow } from '../support/longshore.ts';

// Seen by commands only if the configuration names it.
process.env.LONGSHORE_TEST_WANTED = 'wanted';
process.env.LONGSHORE_TEST_SECRET = 'secret';
const at = await handlerWorld(t, { passEnvironment: ['LONGSHORE_TEST_WANTED', 'LONGSHORE_TEST_ABSENT'] });
const { client, dir, row, put, post, job, status } = at;
const COPY = { 'run.sh': 'mkdir output; cp run.sh output/' };

/** Files of the result. */
async function given(answer: Answer): Promise<Record<string, string>> {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return untar(answer.bytes);
}

async function failed(t: Test, id: string, answer: Answer, message: string | RegExp): Promise<void> {
  t.equal(answer.status, 500);
  const { status: word, message: said } = answer.body as { status: string; message: string };
  t.equal(word, 'server-error');
  if (typeof message === 'string') t.equal(said, message);
  else t.match(said, message);
  t.match(await status(id), { status: 'job failed', message: said });
  t.equal((await client.get(pathOf(id, '/result'))).status, 404);
  t.strictSame(await readdir(at.workDir), []);
}

row('handler/states/awaiting upload', async (t) => {
  await put('x');
  t.match(await status('x'), { status: 'awaiting upload' });
  t.equal((await post('x', 'not packed')).status, 400);
  t.match(await status('x'), { status: 'awaiting upload', message: /^the upload is no / });
});
row('handler/states/uploading files for processing', async (t) => {
  const { connect } = await import('node:net');
  const body = await zipOf(COPY);
  await put('x');
  const socket = connect(at.port, '127.0.0.1');
  const got: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => got.push(chunk));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const head = ['Content-Type: application/zip', `Content-Length: ${body.length}`, 'Connection: close'];
  socket.write(`POST /job/x HTTP/1.1\r\nHost: x\r\n${head.join('\r\n')}\r\n\r\n`);
  socket.write(body.subarray(0, 10));
  let now = await status('x');
  while (now.status === 'awaiting upload') now = await status('x');
  t.match(now, { status: 'uploading files for processing', started: String, size: 0 });
  socket.write(body.subarray(10));
  await closed;
  t.match(Buffer.concat(got).toString('latin1'), /^HTTP\/1\.1 200 /);
});
row('handler/states/unpacking uploaded files', async (t) => {
  const seen = new Set<unknown>();
  // Much to unpack, nothing to send.
  const many = Array.from({ length: 5_000 }, (_, n): [string, string] => [`folder/${n}`, String(n)]);
  const body = await zipOf({ ...COPY, ...Object.fromEntries(many) });
  await put('x');
  let ended = false;
  const answer = post('x', body).finally(() => {
    ended = true;
  });
  while (!ended && !seen.has('processing uploaded files')) {
    const now = await status('x');
    seen.add(now.status);
    if (now.status === 'unpacking uploaded files') t.equal(now.size, body.length);
  }
  t.equal((await answer).status, 200);
  t.ok(seen.has('unpacking uploaded files'), [...seen].join());
});
row('handler/states/processing uploaded files', async (t) => {
  const pipe = held(dir, 'processing');
  await put('x');
  const answer = post('x', await zipOf({ 'run.sh': `read x < '${pipe.content}'; ${COPY['run.sh']}` }));
  await pipe.reached();
  const now = await status('x');
  t.match(now, { status: 'processing uploaded files', started: String });
  const later = await status('x');
  const ms = (text: unknown): number => parseDuration(String(text)) ?? 0;
  t.ok(ms(later.duration) >= ms(now.duration), 'goes on');
  await pipe.release();
  t.equal((await answer).status, 200);
});
row('handler/states/job completed', async (t) => {
  t.equal((await job('x', COPY)).status, 200);
  t.match(await status('x'), { status: 'job completed' });
  t.equal((await client.get(pathOf('x', '/result'))).status, 200);
});
row('handler/states/job failed', async (t) => failed(t, 'x', await job('x', { 'run.sh': 'exit 1' }), /^command 1 /));

row('handler/codes/PUT 409', async (t) => {
  const pipe = held(dir, 'put-409');
  await put('x');
  const answer = post('x', await zipOf({ 'run.sh': `read x < '${pipe.content}'; ${COPY['run.sh']}` }));
  await pipe.reached();
  const { status: code, body } = await put('x');
  t.strictSame([code, body], [409, { status: 'conflict', message: "job 'x' is running" }]);
  const second = await post('x', await zipOf(COPY));
  const message = "job 'x' takes no upload: its status is 'processing uploaded files'";
  t.strictSame([second.status, second.body], [409, { status: 'conflict', message }]);
  await pipe.release();
  t.equal((await answer).status, 200);
});

const ARGS = { 'run.sh': `mkdir output; for arg; do printf '%s\\n' "$arg"; done > output/args` };
/** What the templates became, by their order in handler-world.ts. */
async function filled(about: object = metadata(), files: object = {}): Promise<readonly string[]> {
  const { 'datafiles/args': args = '' } = await given(await job('templates', { ...ARGS, ...files }, about));
  return args.split('\n').slice(0, -1);
}
const full = await filled(
  metadata({
    projects: ['BetaDB', 'AlphaDB'],
    name: 'A "name" of $HOME; `x`',
    description: 'described',
    summary: 'summed up',
    origin: 'galaxy',
    handlerParams: { word: 'a word' },
  }),
  { 'b c.txt': 'x', '-dash': 'x' },
);
const started = new Date(String((await status('templates')).started));
const bare = await filled();
const cases = [
  ['handler/template/date', started.toISOString().slice(0, 10)],
  ['handler/template/date-time', `${started.toISOString().slice(0, 19)}Z`],
  ['handler/template/time', started.toISOString().slice(11, 19)],
  ['handler/template/timestamp', String(Math.floor(started.getTime() / 1000))],
  ['handler/template/ds-description', 'described'],
  ['handler/template/ds-name', 'A "name" of $HOME; `x`'],
  ['handler/template/ds-summary', 'summed up'],
  ['handler/template/ds-user-id', String(OWNER)],
  ['handler/template/ds-origin', 'galaxy'],
  ['handler/template/projects', 'BetaDB,AlphaDB'],
] as const;
for (const [i, [id, value]] of cases.entries()) row(id, async (t) => t.equal(full[i + 1], value));
row('handler/template/cwd', async (t) => {
  t.match(full[0], new RegExp(`^${at.workDir}/job-[0-9a-f-]{36}/files$`));
  const { 'datafiles/pwd': pwd } = await given(
    await job('x', { 'run.sh': 'mkdir output; [ "$PWD" = "$1" ] && echo same > output/pwd' }),
  );
  t.equal(pwd, 'same\n');
});
row('handler/template/handler-params.NAME', async (t) => {
  t.strictSame(full.slice(11, 13), ['a word', 'a word']);
  for (const [word, text] of [[1.5, '1.5'] as const, [false, 'false'] as const, ['', ''] as const])
    t.strictSame((await filled(metadata({ handlerParams: { word } }))).slice(11, 13), [text, text]);
});
row('handler/template/several in one argument', async (t) => t.equal(full[13], `${OWNER}:galaxy;a word`));
row('handler/template/unknown variable', async (t) => t.equal(full[14], '<<no-such-variable>>'));
row('handler/template/input-files[N]', async (t) => t.equal(full[15], './-dash'));
row('handler/template/input-files', async (t) => {
  t.equal(full[16], '"./-dash b c.txt run.sh"');
  t.strictSame(full.slice(17), ['./-dash', 'b c.txt', 'run.sh']);
});
row('handler/template/absent values', async (t) => {
  t.strictSame([bare[5], bare[7], bare[9], bare[13]], ['', '', '', `${OWNER}:;w`]);
  t.equal(bare.length, 18);
});
row('handler/template/one pass', async (t) => {
  const [, , , , , description, name, , , , , word] = await filled(
    metadata({ name: '<<cwd>>', description: '<<input-files[9]>>', handlerParams: { word: '<<ds-user-id>>' } }),
  );
  t.strictSame([name, description, word], ['<<cwd>>', '<<input-files[9]>>', '<<ds-user-id>>']);
});
row('handler/template/unknown parameter', async (t) => {
  const message = "handler parameter 'word' is needed and was not registered";
  await failed(t, 'x', await job('x', COPY, metadata({ handlerParams: { other: 'x' } })), message);
  await failed(t, 'x', await job('x', COPY, metadata({ handlerParams: undefined })), message);
});

row('handler/commands/in order', async (t) => {
  const { 'datafiles/order': order } = await given(
    await job('x', { 'run.sh': 'echo 1 > order', 'then.sh': 'echo 2 >> order; mkdir output; mv order output/' }),
  );
  t.equal(order, '1\n2\n');
  const told = join(dir, 'told');
  const answer = await job('x', { 'run.sh': 'exit 9', 'then.sh': `echo > '${told}'` });
  await failed(t, 'x', answer, 'command 1 (sh) ended with exit code 9');
  await t.rejects(rm(told), { code: 'ENOENT' });
});
row('handler/commands/environment', async (t) => {
  const { 'datafiles/env': env = '' } = await given(
    await job('x', { 'run.sh': 'mkdir output; [ -w "$TMPDIR" ]; env -0 > output/env' }),
  );
  const values = new Map(env.split('\0').map((line) => line.split(/=(.*)/s, 2) as [string, string]));
  t.equal(values.get('LONGSHORE_TEST_WANTED'), 'wanted');
  t.match(values.get('PATH'), /^\//);
  t.match(values.get('TMPDIR'), new RegExp(`^${at.workDir}/job-[^/]+/tmp$`));
  t.match(values.get('TRACEPARENT'), /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);
  // How the runner knows its own; what a shell adds; what tap puts into every process of its tests.
  const own = [
    'PATH',
    'LANG',
    'LC_ALL',
    'TZ',
    'TMPDIR',
    'TRACEPARENT',
    'LONGSHORE_TEST_WANTED',
    'LONGSHORE_RUN',
    'PWD',
    'OLDPWD',
    '_',
    '',
  ];
  const foreign = [...values.keys()].filter((name) => !own.includes(name) && !/^(_TAPJS_|NODE_OPTIONS$)/.test(name));
  t.strictSame(foreign, []);
});
row('handler/commands/user error', async (t) => {
  const script = `echo 'log {of} things' >&2; echo '{"error":"other","message":"no"}' >&2
    echo '{"error": "user", "message": "Zeile 3 ist «leer»"}' >&2; echo bye >&2; exit 1`;
  const { status: code, body } = await job('x', { 'run.sh': script });
  t.equal(code, 422);
  const message = 'Zeile 3 ist «leer»';
  t.strictSame(body, { status: 'invalid-input', message, errors: { general: [message], byKey: {} } });
  t.match(await status('x'), { status: 'job failed', message });
});
row('handler/commands/other error', async (t) => {
  const answer = await job('x', { 'run.sh': `echo '{"error":"unknown","message":"out of memory"}' >&2; exit 4` });
  await failed(t, 'x', answer, 'command 1 (sh) ended with exit code 4: out of memory');
});
row('handler/commands/exit code', async (t) => {
  for (const code of [1, 99, 255])
    await failed(t, 'x', await job('x', { 'run.sh': `exit ${code}` }), `command 1 (sh) ended with exit code ${code}`);
});
row('handler/commands/killed', async (t) =>
  failed(t, 'x', await job('x', { 'run.sh': 'kill -9 $$' }), 'command 1 (sh) was killed by SIGKILL'),
);
row('handler/commands/timed out', async (t) => {
  const answer = await job('x', { 'run.sh': 'true', 'then.sh': 'sleep 600' });
  await failed(t, 'x', answer, 'command 2 (sh) took longer than its 2 s');
});
row('handler/commands/missing', async (t) => {
  await rename(at.lastProgram, `${at.lastProgram}-away`);
  await failed(t, 'x', await job('x', COPY), `command 3 (last) (or its interpreter) does not exist`);
  await rename(`${at.lastProgram}-away`, at.lastProgram);
});
row('handler/commands/not executable', async (t) => {
  await chmod(at.lastProgram, 0o644);
  await failed(t, 'x', await job('x', COPY), `command 3 (last) is not executable`);
  await chmod(at.lastProgram, 0o755);
});
row('handler/commands/leaves nothing running', async (t) => {
  const before = processesBelow(dir);
  const script = `sleep 600 & setsid sleep 601 & ${COPY['run.sh']}; echo $! > output/pid`;
  const { 'datafiles/pid': pid } = await given(await job('x', { 'run.sh': script }));
  t.ok(Number(pid) > 1);
  t.strictSame(processesBelow(dir), before);
});

row('handler/result/packed by the service', async (t) => {
  const about = metadata({ summary: 'S', description: 'D' });
  const script = 'mkdir -p output/sub; echo one > output/a; echo two > "output/sub/ü b"';
  const {
    'meta.json': meta = '',
    'dataset.json': dataset = '',
    ...data
  } = await given(await job('x', { 'run.sh': script }, about));
  t.strictSame(data, { 'datafiles/a': 'one\n', 'datafiles/sub/ü b': 'two\n' });
  t.strictSame(JSON.parse(meta), { name: 'My data', summary: 'S', description: 'D' });
  const { started: begun, size } = await status('x');
  t.match(JSON.parse(dataset), {
    type: { name: 'sample-handler', version: /^\d/ },
    dependencies: [],
    projects: ['AlphaDB'],
    dataFiles: [
      { name: 'a', file: 'datafiles/a', size: 4 },
      { name: 'sub/ü b', file: 'datafiles/sub/ü b', size: 4 },
    ],
    owner: OWNER,
    size,
    created: Date.parse(String(begun)),
  });
});
const OWN = `echo '{}' > meta.json; tar czf dataset_u${OWNER}_t1_p2.tgz meta.json`;
row('handler/result/packed by a command', async (t) => {
  const answer = await job('x', { 'run.sh': `${OWN}; mkdir output; echo other > output/x` });
  t.equal(answer.headers.get('content-disposition'), `attachment; filename=dataset_u${OWNER}_t1_p2.tgz`);
  t.strictSame(await given(answer), { 'meta.json': '{}\n' });
});
row('handler/result/only what is new', async (t) => {
  const files = { ...COPY, [`dataset_u${OWNER}_old.tgz`]: 'uploaded' };
  t.ok('datafiles/run.sh' in (await given(await job('x', files))));
});
row('handler/result/two archives', async (t) => {
  const answer = await job('x', { 'run.sh': `${OWN}; cp dataset_u${OWNER}_t1_p2.tgz dataset_u${OWNER}_t2_p2.tgz` });
  await failed(t, 'x', answer, /^the commands wrote 2 archives \(dataset_u42_t1_p2\.tgz, dataset_u42_t2_p2\.tgz\)/);
});
row('handler/result/none', async (t) =>
  failed(
    t,
    'x',
    await job('x', { 'run.sh': 'echo > elsewhere' }),
    'the commands wrote neither dataset_u42_*.tgz nor a folder output',
  ),
);
row('handler/result/empty output', async (t) =>
  failed(t, 'x', await job('x', { 'run.sh': 'mkdir output' }), 'the commands left output empty'),
);
row('handler/result/link', async (t) => {
  const answer = await job('x', { 'run.sh': 'mkdir output; ln -s /etc/passwd output/passwd' });
  await failed(t, 'x', answer, 'output/passwd of the commands is neither file nor folder');
});
row('handler/result/ranges and validators', async (t) => {
  const { bytes } = await job('x', COPY);
  const result = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
    client.get(pathOf('x', '/result'), headers);
  const part = await result({ range: 'bytes=1-3' });
  t.equal(part.status, 206);
  t.ok(part.bytes.equals(bytes.subarray(1, 4)));
  t.equal((await result({ range: `bytes=${bytes.length}-` })).status, 416);
  const etag = part.headers.get('etag') ?? '';
  t.strictSame(
    [(await result({ 'if-none-match': etag })).status, (await result({ 'if-match': etag })).status],
    [304, 200],
  );
  t.equal((await result({ 'if-match': '"another"' })).status, 412);
});
row('handler/result/client went away', async (t) => {
  const pipe = held(dir, 'went-away');
  await put('x');
  const gone = new AbortController();
  const { fetch } = await import('undici');
  const lost = fetch(`http://127.0.0.1:${at.port}/job/x`, {
    method: 'POST',
    headers: { 'content-type': 'application/zip' },
    body: await zipOf({ 'run.sh': `read x < '${pipe.content}'; ${COPY['run.sh']}` }),
    signal: gone.signal,
  });
  await pipe.reached();
  gone.abort();
  await t.rejects(lost);
  await pipe.release();
  while ((await status('x')).status === 'processing uploaded files');
  const { status: code, bytes } = await client.get(pathOf('x', '/result'));
  t.equal(code, 200);
  t.ok('datafiles/run.sh' in (await untar(bytes)));
});

/** Value of a sample; 0 when it is not there. */
async function metric(sample: string): Promise<number> {
  const { text } = await client.get('/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return Number(line?.slice(sample.length + 1) ?? 0);
}
async function grown(sample: string, work: () => Promise<unknown>): Promise<number> {
  const before = await metric(sample);
  await work();
  return (await metric(sample)) - before;
}
row('handler/metrics/places', async (t) => {
  const pipe = held(dir, 'places');
  await put('x');
  const states = () =>
    Promise.all(['free', 'waiting', 'running'].map((state) => metric(`longshore_handler_places{state="${state}"}`)));
  t.strictSame(await states(), [20, 0, 0]);
  const answer = post('x', await zipOf({ 'run.sh': `read x < '${pipe.content}'; ${COPY['run.sh']}` }));
  await pipe.reached();
  t.strictSame(await states(), [19, 0, 1]);
  await pipe.release();
  t.equal((await answer).status, 200);
});
row('handler/metrics/jobs', async (t) => {
  const blaming = { 'run.sh': `echo '{"error":"user","message":"no"}' >&2; exit 1` };
  const ends: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['completed', () => job('x', COPY)],
    ['user_error', () => job('x', blaming)],
    ['failed', () => job('x', { 'run.sh': 'exit 1' })],
    ['refused', () => job('x', { output: 'x' })],
  ];
  for (const [outcome, work] of ends)
    t.equal(await grown(`longshore_handler_jobs_total{outcome="${outcome}"}`, work), 1, outcome);
});
row('handler/metrics/job_seconds', async (t) =>
  t.equal(await grown('longshore_handler_job_seconds_count', () => job('x', COPY)), 1),
);
row('handler/metrics/upload_bytes', async (t) =>
  t.equal(await grown('longshore_handler_upload_bytes_sum', () => job('x', COPY)), (await zipOf(COPY)).length),
);
row('handler/metrics/command_seconds', async (t) =>
  t.equal(await grown('longshore_handler_command_seconds_count{command="/bin/sh"}', () => job('x', COPY)), 2),
);
row('handler/metrics/http', async (t) => {
  const labels = 'front_end="handler",route="/job/:jobId",method="PUT",status="422"';
  t.equal(await grown(`longshore_http_requests_total{${labels}}`, () => put('x', {})), 1);
});

row('handler/codes/POST 503', async (t) => {
  const pipes = Array.from({ length: 21 }, (_, n) => held(dir, `full-${n}`));
  // One owner alone would leave half of the places to others.
  for (const n of pipes.keys()) await put(`full-${n}`, metadata({ owner: 1_000 + n }));
  const upload = async (n: number): Promise<Answer> =>
    post(`full-${n}`, await zipOf({ 'run.sh': `read x < '${pipes[n]?.content}'; ${COPY['run.sh']}` }));
  const taken = Array.from({ length: 20 }, (_, n) => upload(n));
  const states = () => Promise.all(taken.map(async (_, n) => (await status(`full-${n}`)).status));
  const count = (all: readonly unknown[], state: string): number => all.filter((one) => one === state).length;
  let now = await states();
  while (count(now, 'processing uploaded files') < 4 || count(now, 'awaiting upload') > 0) now = await states();
  t.equal(count(now, 'processing uploaded files'), 4);
  t.equal(count(now, 'uploading files for processing'), 16);
  const head = ['Content-Type: application/zip', 'Content-Length: 500000000', 'Expect: 100-continue'];
  const refused = await at.raw('POST', '/job/full-20', head);
  t.equal(refused.status, 503);
  t.equal(refused.headers.get('retry-after'), '10');
  t.match(refused.body, { status: 'server-error', message: 'all 20 places for jobs are taken; try again' });
  t.match((await client.get('/health')).body, { status: 'degraded' });
  // Open for reading too, a pipe keeps what is written until its script comes to read.
  const released = await Promise.all(pipes.map(({ content }) => open(content, 'r+')));
  for (const writer of released) await writer.write('go\n');
  for (const answer of taken) t.equal((await answer).status, 200);
  for (const writer of released) await writer.close();
  t.strictSame(await readdir(at.workDir), []);
});
