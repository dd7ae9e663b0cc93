// What a job does between its upload and its end.

import { execFileSync } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { fetch } from 'undici';
import { tarGzOf, zipOf } from '../../fixtures/archives.ts';
import { bytesOf, handlerApp, metadata, sh, untar } from './handler-app.ts';

const digestOf = (bytes: Uint8Array): string => `sha-256=:${hash('sha256', bytes, 'base64')}:`;
const FILES = { 'b.txt': 'beta', 'a dir/ü.txt': 'alpha' };

t.test('a zip and a tar.gz go in, what the commands left in output comes back packed', async (t) => {
  const app = await handlerApp(t);
  for (const [jobId, archive] of [
    ['zip', await zipOf(FILES)],
    ['tgz', await tarGzOf(FILES)],
  ] as const) {
    const response = await app.job(jobId, archive, metadata({ summary: 'S', description: 'D', projects: ['BetaDB'] }));
    t.equal(response.status, 200);
    t.equal(response.headers.get('content-type'), 'application/binary');
    const [, created] =
      /^attachment; filename=dataset_u42_t(\d+)_p\d+\.tgz$/.exec(response.headers.get('content-disposition') ?? '') ??
      [];
    const bytes = await bytesOf(response);
    t.equal(response.headers.get('content-length'), String(bytes.length));
    const { 'meta.json': meta = '', 'dataset.json': dataset = '', ...data } = await untar(bytes);
    t.strictSame(data, { 'datafiles/b.txt': 'beta', 'datafiles/a dir/ü.txt': 'alpha' });
    t.strictSame(JSON.parse(meta), { name: 'My data', summary: 'S', description: 'D' });
    t.strictSame(JSON.parse(dataset), {
      type: { name: 'test-handler', version: '1.2.3' },
      dependencies: [],
      projects: ['BetaDB'],
      dataFiles: [
        { name: 'a dir/ü.txt', file: 'datafiles/a dir/ü.txt', size: 5 },
        { name: 'b.txt', file: 'datafiles/b.txt', size: 4 },
      ],
      owner: 42,
      size: archive.length,
      created: Number(created),
    });
    t.match(await app.status(jobId), { status: 'job completed', jobId, size: archive.length, userId: 42 });
    t.strictSame(await app.folders(), []);
  }
});

t.test('names are text in any script, U+FFFD too; what desktops add is left out and the job says so', async (t) => {
  const junk = { '.DS_Store': 'x', 'a/Thumbs.db': 'x' };
  const files = { 'S\ufffd.txt': '1', 'Größe.txt': '2', 'a/表データ.txt': '3' };
  const commands = [sh('mkdir output; cp -r ./[!o]* output/; echo x > output/desktop.ini')];
  for (const [jobId, archive] of [
    ['zip', await zipOf({ ...files, ...junk })],
    ['tgz', await tarGzOf({ ...files, ...junk })],
  ] as const) {
    const app = await handlerApp(t, { commands });
    const response = await app.job(jobId, archive);
    t.equal(response.status, 200);
    const { 'meta.json': _meta, 'dataset.json': _dataset, ...data } = await untar(await bytesOf(response));
    t.strictSame(data, Object.fromEntries(Object.entries(files).map(([name, text]) => [`datafiles/${name}`, text])));
    t.match(await app.status(jobId), {
      status: 'job completed',
      message:
        "left out, as files that desktops and office programs add: '.DS_Store', 'a/Thumbs.db'; " +
        "left out, as files that desktops and office programs add: 'output/desktop.ini'",
    });
  }
});

t.test('an archive that the commands packed themselves is the answer, whatever its size', async (t) => {
  for (const size of [8192, 2 * 8192, 8191]) {
    // A gzip of exactly that size: its trailing bytes are nobody's business here.
    const script = `{ printf '\\037\\213'; head -c ${size - 2} /dev/zero; } > dataset_u42_t1_p2.tgz; mkdir output`;
    const app = await handlerApp(t, { commands: [sh(script)] });
    const response = await app.job('own', await zipOf(FILES));
    t.equal(response.headers.get('content-disposition'), 'attachment; filename=dataset_u42_t1_p2.tgz');
    const bytes = await bytesOf(response);
    t.equal(bytes.length, size);
    t.strictSame(bytes.subarray(0, 3), Buffer.from([0x1f, 0x8b, 0]));
    t.equal(response.headers.get('repr-digest'), digestOf(bytes));
  }
});

t.test('only what was not there before the commands counts as their result', async (t) => {
  const app = await handlerApp(t, { commands: [sh('mkdir output; echo new > output/x')] });
  const input = { 'dataset_u42_old.tgz': 'uploaded', 'a.txt': 'a' };
  const response = await app.job('old', await zipOf(input));
  t.equal(response.status, 200);
  t.match(Object.keys(await untar(await bytesOf(response))), ['meta.json', 'dataset.json', 'datafiles/x']);
});

t.test(
  'commands run one after the other on one folder, with the environment that the configuration names',
  async (t) => {
    const app = await handlerApp(t, {
      env: { PATH: '/usr/bin:/bin', SECRET: 'no', WANTED: 'yes', TZ: 'UTC' },
      passEnvironment: ['WANTED', 'ABSENT'],
      commands: [
        sh('set +u; mkdir output; echo "[$SECRET] [$ABSENT] $PATH $TZ" > told; echo "$WANTED" > wanted'),
        sh('mv told wanted output/; [ -w "$TMPDIR" ]; [ "$PWD" = "$1" ]', '<<cwd>>'),
      ],
    });
    const { 'datafiles/told': told, 'datafiles/wanted': wanted } = await untar(
      await bytesOf(await app.job('env', await zipOf(FILES))),
    );
    t.equal(told, '[] [] /usr/bin:/bin UTC\n');
    t.equal(wanted, 'yes\n');
  },
);

t.test('commands are told the trace of the upload, which is in what is logged of the job', async (t) => {
  const lines: { readonly trace?: string; readonly msg: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const app = await handlerApp(t, { commands: [sh('mkdir output; echo "$TRACEPARENT" > output/told')], log });
  await app.put('traced');
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
  const response = await app.post('traced', await zipOf(FILES), { traceparent });
  const { 'datafiles/told': told } = await untar(await bytesOf(response));
  t.match(told, new RegExp(`^00-${trace}-[0-9a-f]{16}-01\n$`));
  t.not(told, `${traceparent}\n`, 'with an id of our own');
  const run = lines.filter(({ msg }) => /^(command (started|ended)|job ended)$/.test(msg));
  t.strictSame(
    run.map((line) => [line.msg, line.trace]),
    [
      ['command started', trace],
      ['command ended', trace],
      ['job ended', trace],
    ],
  );
});

t.test('a command that blames the user is 422 with its message', async (t) => {
  const said = '{"error": "user", "message": "row 3 is no number"}';
  const app = await handlerApp(t, { commands: [sh(`echo 'starting {' >&2; echo '${said}' >&2; exit 3`)] });
  const response = await app.job('bad', await zipOf(FILES));
  t.equal(response.status, 422);
  t.strictSame(await response.json(), {
    status: 'invalid-input',
    message: 'row 3 is no number',
    errors: { general: ['row 3 is no number'], byKey: {} },
  });
  t.match(await app.status('bad'), { status: 'job failed', message: 'row 3 is no number' });
  t.strictSame(await app.folders(), []);
});

t.test('every other end of a command is 500 with the id of the request, and says which command', async (t) => {
  const unknown = `echo '{"error": "unknown", "message": "no reference"}' >&2; exit 2`;
  const cases: readonly (readonly [ReturnType<typeof sh>, string])[] = [
    [sh('exit 7'), 'command 1 (sh) ended with exit code 7'],
    [sh(unknown), 'command 1 (sh) ended with exit code 2: no reference'],
    [sh('kill -9 $$'), 'command 1 (sh) was killed by SIGKILL'],
    [{ ...sh('sleep 60'), maxDurationMs: 50 }, 'command 1 (sh) took longer than its 0.05 s'],
    [{ ...sh(''), command: 'no-such-program' }, 'command 1 (no-such-program) (or its interpreter) does not exist'],
    [{ ...sh(''), command: '/etc/passwd' }, 'command 1 (passwd) is not executable'],
    [sh('true', '<<handler-params.k>>'), "handler parameter 'k' is needed and was not registered"],
    [sh('true', '<<input-files[2]>>'), "there is no input file '2': the upload has 2 at its top level"],
    [sh('true'), 'the commands wrote neither dataset_u42_*.tgz nor a folder output'],
    [sh('mkdir output'), 'the commands left output empty'],
    [sh('mkdir output; ln -s /etc/passwd output/x'), 'output/x of the commands is neither file nor folder'],
    [
      sh('mkdir output; echo a > output/a; echo b > "output/$(printf "Gr\\366\\337e.txt")"'),
      "'Gr\\xf6\\xdfe.txt' in output of the commands has a name that is not UTF-8 (it would read 'Größe.txt' in " +
        'Windows-1252 (Latin-1)): rename it with plain letters, or have the name written as UTF-8',
    ],
    [
      sh('echo a > "$(printf "dataset_u42_\\366.tgz")"'),
      'the result dataset_u42_\\xf6.tgz of the commands has a name that is not UTF-8',
    ],
    [
      sh('touch dataset_u42_1.tgz dataset_u42_2.tgz'),
      'the commands wrote 2 archives (dataset_u42_1.tgz, dataset_u42_2.tgz); one is the result',
    ],
    [sh('ln -s /etc/passwd dataset_u42_1.tgz'), 'the result dataset_u42_1.tgz of the commands is no plain file'],
    [sh('echo no > dataset_u42_1.tgz'), 'the result dataset_u42_1.tgz of the commands is no tar.gz'],
  ];
  for (const [command, message] of cases) {
    const app = await handlerApp(t, { commands: [command, sh('touch /nonexistent/never-reached')] });
    // The second command is reached only where the first ended well.
    const one = message.startsWith('command 1') ? app : await handlerApp(t, { commands: [command] });
    const response = await one.job('x', await zipOf(FILES));
    t.equal(response.status, 500, message);
    const requestId = response.headers.get('x-request-id');
    t.strictSame(await response.json(), { status: 'server-error', message, requestId });
    t.match(await one.status('x'), { status: 'job failed', message });
    t.strictSame(await one.folders(), []);
    t.strictSame(one.store.keys(), []);
  }
});

t.test('a missing parameter of a later command is found before the first one runs', async (t) => {
  const app = await handlerApp(t, {
    commands: [sh('echo ran >> "$1"/ran', '/dev/shm'), sh('true', '<<handler-params.z>>')],
  });
  const response = await app.job('late', await zipOf(FILES));
  t.match(await response.json(), { message: "handler parameter 'z' is needed and was not registered" });
  t.notMatch(await app.metrics.text(), 'longshore_handler_command_seconds_count{');
});

t.test('the values of a job reach the command as one argument each', async (t) => {
  const all = '<<ds-name>>|<<ds-summary>>|<<ds-user-id>>|<<projects>>|<<ds-origin>>|<<handler-params.n>>|<<nothing>>';
  const app = await handlerApp(t, {
    commands: [sh('mkdir output; printf "%s\\n" "$@" > output/args', all, '<<input-files>>')],
  });
  const name = '<<cwd>> $(touch x) "q" \'s\'';
  const summary = 'two\nlines';
  const body = metadata({
    name,
    summary,
    origin: 'galaxy',
    projects: ['AlphaDB', 'BetaDB'],
    handlerParams: { n: 1.5 },
  });
  const { 'datafiles/args': args } = await untar(await bytesOf(await app.job('args', await zipOf(FILES), body)));
  t.equal(args, `${name}|${summary}|42|AlphaDB,BetaDB|galaxy|1.5|<<nothing>>\na dir\nb.txt\n`);
});

t.test('a job whose client goes away runs to its end, and its result is fetched later', async (t) => {
  const app = await handlerApp(t, {
    commands: [sh('mkdir output; read line < "$1"; echo "$line" > output/x', '<<handler-params.fifo>>')],
  });
  const fifo = join(app.dir, 'fifo');
  execFileSync('mkfifo', [fifo]);
  await app.put('gone', metadata({ handlerParams: { fifo } }));
  const client = new AbortController();
  const lost = fetch(app.jobUrl('gone'), {
    method: 'POST',
    headers: { 'content-type': 'application/zip' },
    body: await zipOf(FILES),
    signal: client.signal,
  });
  // Opens once the command has opened its side.
  const writer = await open(fifo, 'w');
  t.match(await app.status('gone'), { status: 'processing uploaded files' });
  client.abort();
  await t.rejects(lost);
  await writer.write('later\n');
  await writer.close();
  while (app.lane.taken > 0) await new Promise(setImmediate);
  t.match(await app.status('gone'), { status: 'job completed' });
  const result = await fetch(app.jobUrl('gone', '/result'));
  t.equal((await untar(await bytesOf(result)))['datafiles/x'], 'later\n');
  t.strictSame(await app.folders(), []);
});

t.test('an owner whose results take as much as may be kept waits until one is removed', async (t) => {
  const app = await handlerApp(t, { maxKeptBytes: 1 });
  const first = await app.job('first', await zipOf(FILES));
  t.equal(first.status, 200);
  const bytes = (await bytesOf(first)).length;
  const second = await app.job('second', await zipOf(FILES));
  t.equal(second.status, 429);
  t.match(await second.json(), {
    message: `results of jobs of user 42 take ${bytes} bytes; while they are 1 or more, no other job of theirs runs`,
  });
  const wait = Number(second.headers.get('retry-after'));
  t.ok(wait > 86_000 && wait <= 86_400, 'until the first is removed');
  t.match(await app.status('second'), { status: 'awaiting upload' }, 'the job takes another upload');
  t.equal((await app.job('of another', await zipOf(FILES), metadata({ owner: 43 }))).status, 200);
});

t.test('the result can be fetched again, in part too, until its time is over', async (t) => {
  const app = await handlerApp(t, { run: { resultRetentionMs: 60_000 } });
  const first = await app.job('again', await zipOf(FILES));
  const bytes = await bytesOf(first);
  const again = await fetch(app.jobUrl('again', '/result'));
  t.equal(again.status, 200);
  t.equal(again.headers.get('content-type'), 'application/binary');
  t.equal(again.headers.get('content-disposition'), first.headers.get('content-disposition'));
  t.equal(first.headers.get('repr-digest'), digestOf(bytes));
  t.strictSame(await bytesOf(again), bytes);
  const part = await fetch(app.jobUrl('again', '/result'), { headers: { range: 'bytes=0-1' } });
  t.equal(part.status, 206);
  const head = await fetch(app.jobUrl('again', '/result'), { method: 'HEAD' });
  for (const one of [again, part, head]) t.equal(one.headers.get('repr-digest'), digestOf(bytes));
  t.strictSame(await bytesOf(part), bytes.subarray(0, 2));

  const brief = await handlerApp(t, { run: { resultRetentionMs: 0 } });
  await (await brief.job('brief', await zipOf(FILES))).arrayBuffer();
  const over = await fetch(brief.jobUrl('brief', '/result'));
  t.equal(over.status, 404);
  t.match(await over.json(), { message: "the result of job 'brief' was removed after its time" });
});

t.test('a store that is away fails the job, not the service', async (t) => {
  const app = await handlerApp(t);
  app.store.onCall = (method) => {
    if (method === 'put') throw new Error('ENOSPC at /secret/place');
  };
  const response = await app.job('full', await zipOf(FILES));
  t.match(await response.json(), { status: 'server-error', message: 'an internal error; see the log' });
  t.match(await app.status('full'), { status: 'job failed' });
  app.store.onCall = () => undefined;
  t.equal((await app.job('full', await zipOf(FILES))).status, 200, 'the id is free again');
});

t.test('the real files of a folder survive the way in and out', async (t) => {
  const app = await handlerApp(t);
  const binary = randomBytes(1_000_000);
  const response = await app.job('binary', await tarGzOf({ 'x.bin': binary }));
  const { 'datafiles/x.bin': out = '' } = await untar(await bytesOf(response));
  t.equal(out, binary.toString());
});
