// POST /job/{job-id}: every refusal of the contract by its own message, and what a refusal leaves behind.

import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import t from 'tap';
import { FormData, fetch } from 'undici';
import { type RawZipEntry, rawTarGz, rawZip, tarGzOf, zipOf } from '../../fixtures/archives.ts';
import { dial, raw } from '../http-app.ts';
import { bytesOf, handlerApp, metadata, sh, untar } from './handler-app.ts';

const FILES = { 'a.txt': 'alpha' };
const TYPES = 'application/binary, application/octet-stream, application/zip, application/gzip, multipart/form-data';
const UNUSABLE = 'the upload is no .zip, .tar.gz or .tgz archive that can be used: ';

const head = (lines: readonly string[], body = ''): string =>
  ['POST /job/x HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', body].join('\r\n');

t.test('400 for every fault of the head, before a byte of the body was read', async (t) => {
  const app = await handlerApp(t);
  await app.put('x');
  const type = 'Content-Type: application/binary';
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['Content-Length: 5'], `there is no Content-Type header: expected one of ${TYPES}`],
    [
      ['Content-Type: text/csv', 'Content-Length: 5'],
      `Content-Type 'text/csv' is not supported: expected one of ${TYPES}`,
    ],
    [[type], 'there is no Content-Length header: the size has to be announced'],
    [[type, 'Transfer-Encoding: chunked'], 'there is no Content-Length header: the size has to be announced'],
    [
      [type, 'Content-Length: 524288001'],
      'the upload is too large: at most 524288000 bytes are taken, 524288001 bytes were announced',
    ],
    [
      ['Content-Type: multipart/form-data; boundary=b', 'Content-Length: 624288001'],
      'the upload is too large: at most 524288000 bytes are taken, 624288001 bytes were announced',
    ],
    [[type, 'Content-Length: 0'], `${UNUSABLE}it is empty`],
  ];
  for (const [lines, message] of cases) {
    // Expects to be asked for the body, and is not.
    const answer = await raw(app.port, head([...lines, 'Expect: 100-continue']));
    t.match(answer, /^HTTP\/1\.1 400 /, message);
    t.strictSame(JSON.parse(answer.slice(answer.indexOf('{'))), { status: 'bad-request', message });
    t.match(await app.status('x'), { status: 'awaiting upload', size: 0 });
  }
  t.equal(app.lane.taken, 0);
  t.strictSame(await app.folders(), []);
});

t.test('524288000 bytes are let in, and the body is asked for', async (t) => {
  const app = await handlerApp(t);
  await app.put('x');
  const { socket, answer, got } = dial(app.port);
  socket.write(head(['Content-Type: application/zip', 'Content-Length: 524288000', 'Expect: 100-continue']));
  while (!got().includes('\r\n\r\n')) await new Promise(setImmediate);
  t.match(got(), /^HTTP\/1\.1 100 /);
  t.match(await app.status('x'), { status: 'uploading files for processing' });
  socket.destroy();
  await answer;
  while (app.lane.taken > 0) await new Promise(setImmediate);
  t.match(await app.status('x'), {
    status: 'awaiting upload',
    message: 'the upload was cut off: the client went away',
  });
  t.strictSame(await app.folders(), []);
});

t.test('400 for a body that is no archive, or one that breaks the rules; the job waits for another', async (t) => {
  const app = await handlerApp(t, { run: { maxUnpackedBytes: 1_000 } });
  const zip = (entry: RawZipEntry): Buffer => rawZip([entry]);
  const cases: readonly (readonly [Buffer, string | RegExp])[] = [
    [Buffer.from('no archive at all'), `${UNUSABLE}its first bytes are those of neither`],
    [Buffer.from('PK'), `${UNUSABLE}its first bytes are those of neither`],
    [Buffer.from('PK\x05\x06'.padEnd(22, '\0')), `${UNUSABLE}the archive is empty`],
    [Buffer.from('PK\x07\x08PK\x03\x04'), `${UNUSABLE}the archive is one part of a split zip; join the parts first`],
    [(await zipOf(FILES)).subarray(0, 60), new RegExp(`^${UNUSABLE}the archive is damaged`)],
    [Buffer.from([0x1f, 0x8b, 1, 2, 3, 4]), new RegExp(`^${UNUSABLE}the archive is damaged`)],
    [await tarGzOf({}), `${UNUSABLE}the archive holds no files`],
    [zip({ name: '../up' }), `${UNUSABLE}entry '../up' has '..' in its path`],
    [zip({ name: 'link', mode: 0o120777 }), `${UNUSABLE}entry 'link' is a link`],
    [await rawTarGz([{ name: '/abs', content: 'x' }]), `${UNUSABLE}entry '/abs' has an absolute path`],
    [
      await zipOf({ 'big.txt': 'x'.repeat(1_001) }),
      `${UNUSABLE}entry 'big.txt' is larger than the 1000 bytes allowed per file`,
    ],
    [
      await tarGzOf({ a: 'x'.repeat(600), b: 'x'.repeat(600) }),
      `${UNUSABLE}at entry 'b' the archive unpacks to more than the 1000 bytes allowed`,
    ],
    [
      rawZip([{ name: 'b.txt' }, { name: Buffer.from('Gr\xf6\xdfe.txt', 'latin1') }]),
      /entry 'Gr\\xf6\\xdfe\.txt' has a name that is not UTF-8 \(it would read 'Größe\.txt' in Windows-1252/,
    ],
    [await zipOf({ output: 'a file' }), `${UNUSABLE}'output' at its top level is the name of the folder for results`],
    [await tarGzOf({ 'output/x': 'x' }), `${UNUSABLE}'output' at its top level is the name of the folder for results`],
  ];
  await app.put('x');
  for (const [archive, message] of cases) {
    const response = await app.post('x', archive);
    t.equal(response.status, 400, String(message));
    const body = (await response.json()) as { message: string };
    t.match(body, { status: 'bad-request', message });
    const after = (await app.status('x')) as { status: string; message: string };
    t.match(after, { status: 'awaiting upload', size: 0, duration: '0s' });
    t.ok(body.message.endsWith(after.message), 'the status says why');
    t.strictSame(await app.folders(), []);
  }
  const response = await app.post('x', await zipOf(FILES));
  t.equal(response.status, 200, 'the next upload is taken');
  t.strictSame((await untar(await bytesOf(response)))['datafiles/a.txt'], 'alpha');
});

t.test('every media type of an archive is taken, its format is found in its bytes', async (t) => {
  const app = await handlerApp(t);
  const [zip, tgz] = [await zipOf(FILES), await tarGzOf(FILES)];
  const types = ['application/binary', 'application/octet-stream; x=1', 'Application/Zip', 'application/gzip'];
  for (const type of types)
    for (const archive of [zip, tgz]) {
      await app.put('x');
      const response = await app.post('x', archive, { 'content-type': type });
      t.equal(response.status, 200, type);
      await response.arrayBuffer();
    }
});

t.test('a form carries the archive as its part file', async (t) => {
  const app = await handlerApp(t);
  await app.put('form');
  const archive = await tarGzOf(FILES);
  const post = (parts: readonly (readonly [string, Buffer])[]) => {
    const form = new FormData();
    for (const [name, content] of parts) form.append(name, new File([new Uint8Array(content)], 'x.tgz'));
    return fetch(app.jobUrl('form'), { method: 'POST', body: form });
  };
  const refusals: readonly (readonly [readonly (readonly [string, Buffer])[], string])[] = [
    [[['data', archive]], "part 'data' is not known: the archive is sent as part 'file'"],
    [
      [
        ['file', archive],
        ['file', archive],
      ],
      "part 'file' comes twice",
    ],
    [[['file', Buffer.from('not packed')]], `${UNUSABLE}its first bytes are those of neither`],
  ];
  for (const [parts, message] of refusals) {
    const response = await post(parts);
    t.equal(response.status, 400, message);
    t.strictSame(await response.json(), { status: 'bad-request', message });
    t.strictSame(await app.folders(), []);
  }
  const none = await app.post('form', Buffer.from('--b--\r\n'), { 'content-type': 'multipart/form-data; boundary=b' });
  t.match(await none.json(), { status: 'bad-request', message: "the form has no part 'file'" });
  const broken = await app.post('form', Buffer.from('no form'), { 'content-type': 'multipart/form-data; boundary=b' });
  t.equal(broken.status, 400);
  const response = await post([['file', archive]]);
  t.equal(response.status, 200);
  t.equal((await untar(await bytesOf(response)))['datafiles/a.txt'], 'alpha');
  t.match(await app.status('form'), { size: archive.length });
});

t.test('404 for an id that nobody registered comes before anything about the body', async (t) => {
  const app = await handlerApp(t);
  const answer = await raw(app.port, head(['Content-Length: 0']));
  t.match(answer, /^HTTP\/1\.1 404 /);
  t.strictSame(JSON.parse(answer.slice(answer.indexOf('{'))), { status: 'not-found', message: "there is no job 'x'" });
});

t.test('409 for an upload while the job runs and after its end', async (t) => {
  const app = await handlerApp(t, {
    commands: [sh('read line < "$1"; mkdir output; echo x > output/x', '<<handler-params.fifo>>')],
  });
  execFileSync('mkfifo', [`${app.dir}/fifo`]);
  await app.put('x', metadata({ handlerParams: { fifo: `${app.dir}/fifo` } }));
  const running = app.post('x', await zipOf(FILES));
  const writer = await open(`${app.dir}/fifo`, 'w');
  const taken = await app.post('x', await zipOf(FILES));
  t.equal(taken.status, 409);
  t.strictSame(await taken.json(), {
    status: 'conflict',
    message: "job 'x' takes no upload: its status is 'processing uploaded files'",
  });
  const again = await app.put('x');
  t.equal(again.status, 409);
  t.strictSame(await again.json(), { status: 'conflict', message: "job 'x' is running" });
  await writer.write('go\n');
  await writer.close();
  t.equal((await running).status, 200);
  t.match(await (await app.post('x', await zipOf(FILES))).json(), {
    status: 'conflict',
    message: "job 'x' takes no upload: its status is 'job completed'",
  });
});

t.test('two uploads at once: one runs, the other is told', async (t) => {
  const app = await handlerApp(t);
  await app.put('x');
  const archive = await zipOf(FILES);
  const answers = await Promise.all([app.post('x', archive), app.post('x', archive), app.post('x', archive)]);
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409]);
});

t.test('with a token every /job needs it, and nothing else does', async (t) => {
  const token = 'secret-of-the-handler-1234567890ab';
  const app = await handlerApp(t, { token });
  const calls = [
    ['PUT', ''],
    ['POST', ''],
    ['GET', '/status'],
    ['GET', '/result'],
  ] as const;
  for (const [method, tail] of calls)
    for (const authorization of [undefined, 'Bearer wrong', `Basic ${token}`]) {
      const headers = authorization === undefined ? {} : { authorization };
      const response = await fetch(app.jobUrl('x', tail), { method, headers });
      t.equal(response.status, 401, `${method} ${tail} ${authorization}`);
      t.strictSame(await response.json(), {
        status: 'unauthorized',
        message: 'the handler service needs its token as Authorization: Bearer',
      });
    }
  const authorization = `Bearer ${token}`;
  t.equal((await app.put('x', metadata(), { authorization })).status, 204);
  t.equal((await app.post('x', await zipOf(FILES), { authorization })).status, 200);
  for (const path of ['/config', '/health', '/metrics']) t.equal((await fetch(app.url + path)).status, 200, path);
});
