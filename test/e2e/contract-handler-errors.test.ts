// The contract of handler jobs on the running program: every refusal of the handler service by its own message, headers and limits.

import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { FormData } from 'undici';
import type { Answer } from '../contract/client.ts';
import { handlerWorld, metadata, parsedAnswer, pathOf } from '../contract/handler-world.ts';
import { type RawZipEntry, rawTarGz, rawZip, tarGzOf, zipOf } from '../fixtures/archives.ts';

const MAX_UPLOAD = 524_288_000;
const MIB = 1_048_576;
const TYPES = 'application/binary, application/octet-stream, application/zip, application/gzip, multipart/form-data';
const UNUSABLE = 'the upload is no .zip, .tar.gz or .tgz archive that can be used: ';

const at = await handlerWorld(t, { maxUnpackedSize: MIB });
const { client, row, put, post, job, raw, status } = at;
const COPY = { 'run.sh': 'mkdir output; cp run.sh output/' };
const archive = await zipOf(COPY);
await put('x');

/** The body whole, and what the refusal leaves behind. */
async function refused(t: Test, answer: Answer, message: string | RegExp): Promise<void> {
  t.equal(answer.status, 400);
  const body = answer.body as { status: string; message: string };
  t.strictSame(Object.keys(body).sort(), ['message', 'status']);
  t.equal(body.status, 'bad-request');
  if (typeof message === 'string') t.equal(body.message, message);
  else t.match(body.message, message);
  t.match(await status('x'), { status: 'awaiting upload', size: 0, duration: '0s' });
  t.strictSame(await readdir(at.workDir), []);
}

const PUTS: readonly (readonly [Parameters<typeof row>[0], () => Promise<Answer>, string | RegExp])[] = [
  [
    'handler/400/PUT no JSON',
    () => client.call('PUT', '/job/x', { headers: { 'content-type': 'application/json' }, body: '{' }),
    /^the body is not JSON/,
  ],
  ['handler/400/PUT no object', () => put('x', []), 'the body is not a JSON object'],
  [
    'handler/400/PUT no Content-Type',
    () => raw('PUT', '/job/x', ['Content-Length: 2'], '{}'),
    'there is no Content-Type header: expected application/json',
  ],
  [
    'handler/400/PUT other Content-Type',
    () => put('x', metadata(), { 'content-type': 'text/json' }),
    "Content-Type 'text/json' is not supported: expected application/json",
  ],
  [
    'handler/400/PUT too large',
    () => put('x', metadata({ description: 'x'.repeat(MIB) })),
    /^the body is larger than 1048576 bytes|^the body .*1048576/,
  ],
];
for (const [id, call, message] of PUTS) row(id, async (t) => refused(t, await call(), message));
row('handler/400/PUT bad job id', async (t) => {
  for (const id of ['x'.repeat(129), 'a\nb', '\u007f'])
    await refused(t, await put(id), 'a job id has 1 to 128 characters, and no control characters');
});

const head = (...lines: readonly string[]) => raw('POST', '/job/x', [...lines, 'Expect: 100-continue']);
const BINARY = 'Content-Type: application/binary';
const NO_LENGTH = 'there is no Content-Length header: the size has to be announced';
const HEADS: readonly (readonly [Parameters<typeof row>[0], readonly string[], string])[] = [
  [
    'handler/400/POST no Content-Type',
    ['Content-Length: 5'],
    `there is no Content-Type header: expected one of ${TYPES}`,
  ],
  ['handler/400/POST no Content-Length', [BINARY], NO_LENGTH],
  ['handler/400/POST chunked', [BINARY, 'Transfer-Encoding: chunked'], NO_LENGTH],
  [
    'handler/400/POST unsupported Content-Type',
    ['Content-Type: text/csv', 'Content-Length: 5'],
    `Content-Type 'text/csv' is not supported: expected one of ${TYPES}`,
  ],
  [
    'handler/400/POST too large',
    [BINARY, `Content-Length: ${MAX_UPLOAD + 1}`],
    `the upload is too large: at most ${MAX_UPLOAD} bytes are taken, ${MAX_UPLOAD + 1} bytes were announced`,
  ],
  ['handler/400/POST format: empty body', [BINARY, 'Content-Length: 0'], `${UNUSABLE}it is empty`],
];
for (const [id, lines, message] of HEADS) row(id, async (t) => refused(t, await head(...lines), message));

const zip = (entry: RawZipEntry): Buffer => rawZip([entry]);
const outputs = "'output' at its top level is the name of the folder for results";
const FORMATS: readonly (readonly [Parameters<typeof row>[0], readonly (readonly [Buffer, string | RegExp])[]])[] = [
  [
    'handler/400/POST format: neither zip nor gzip',
    [
      [Buffer.from('id,name\n1,a\n'), `${UNUSABLE}its first bytes are those of neither`],
      [Buffer.from('PK'), `${UNUSABLE}its first bytes are those of neither`],
    ],
  ],
  ['handler/400/POST format: empty zip', [[await zipOf({}), `${UNUSABLE}the archive is empty`]]],
  [
    'handler/400/POST format: split zip',
    [
      [
        Buffer.concat([Buffer.from('PK\x07\x08'), archive]),
        `${UNUSABLE}the archive is one part of a split zip; join the parts first`,
      ],
    ],
  ],
  [
    'handler/400/POST format: damaged',
    [
      [archive.subarray(0, 60), /^the upload is no .* that can be used: the archive is damaged/],
      [(await tarGzOf(COPY)).subarray(0, -20), /^the upload is no .* that can be used: the archive is damaged/],
    ],
  ],
  ['handler/400/POST format: no files', [[await tarGzOf({}), `${UNUSABLE}the archive holds no files`]]],
  [
    'handler/400/POST format: path leads out',
    [
      [zip({ name: '../up' }), `${UNUSABLE}entry '../up' has '..' in its path`],
      [await rawTarGz([{ name: '/abs', content: 'x' }]), `${UNUSABLE}entry '/abs' has an absolute path`],
    ],
  ],
  ['handler/400/POST format: link', [[zip({ name: 'link', mode: 0o120777 }), `${UNUSABLE}entry 'link' is a link`]]],
  [
    'handler/400/POST format: top-level output',
    [
      [await zipOf({ ...COPY, output: 'a file' }), UNUSABLE + outputs],
      [await tarGzOf({ ...COPY, 'output/x': 'x' }), UNUSABLE + outputs],
    ],
  ],
  [
    'handler/400/POST format: unpacks to too much',
    [
      [
        await zipOf({ 'big.txt': Buffer.alloc(MIB + 1) }),
        `${UNUSABLE}entry 'big.txt' is larger than the ${MIB} bytes allowed per file`,
      ],
    ],
  ],
];
for (const [id, cases] of FORMATS)
  row(id, async (t) => {
    for (const [body, message] of cases) await refused(t, await post('x', body), message);
  });

const form = (...parts: readonly (readonly [string, Buffer])[]): Promise<Answer> => {
  const body = new FormData();
  for (const [name, content] of parts) body.append(name, new File([Uint8Array.from(content)], 'x.zip'));
  return client.call('POST', '/job/x', { body });
};
row('handler/400/POST form: not readable', async (t) => {
  const type = 'multipart/form-data';
  await refused(t, await post('x', 'no form', { 'content-type': type }), /^the multipart body cannot be read/);
  await refused(t, await post('x', 'no form', { 'content-type': `${type}; boundary=b` }), /multipart body/);
});
row('handler/400/POST form: unknown part', async (t) =>
  refused(t, await form(['data', archive]), "part 'data' is not known: the archive is sent as part 'file'"),
);
row('handler/400/POST form: part twice', async (t) =>
  refused(t, await form(['file', archive], ['file', archive]), "part 'file' comes twice"),
);
row('handler/400/POST form: no part', async (t) => {
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  await refused(t, await post('x', '--b--\r\n', headers), "the form has no part 'file'");
});
row('handler/400/POST part too large', async (t) => {
  // The head allows for what a form needs around its part; the answer comes although the rest does not.
  const opening = '--b\r\ncontent-disposition: form-data; name="file"; filename="x.tgz"\r\n\r\n';
  const socket = connect(at.port, '127.0.0.1');
  const got: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => got.push(chunk));
  socket.on('error', () => undefined);
  const answered = once(socket, 'data');
  const lines = ['Content-Type: multipart/form-data; boundary=b', `Content-Length: ${MAX_UPLOAD + 60_000}`];
  socket.write(`POST /job/x HTTP/1.1\r\nHost: x\r\n${lines.join('\r\n')}\r\n\r\n${opening}`);
  const block = Buffer.alloc(MIB, 7);
  Buffer.from([0x1f, 0x8b]).copy(block);
  for (let sent = 0; sent <= MAX_UPLOAD; sent += block.length)
    if (!socket.write(block.subarray(0, MAX_UPLOAD + 1 - sent))) await once(socket, 'drain');
  await answered;
  const closed = once(socket, 'close');
  socket.end();
  await closed;
  const answer = parsedAnswer(Buffer.concat(got));
  at.recorder.check('POST', '/job/x', answer);
  await refused(t, answer, `the upload is too large: at most ${MAX_UPLOAD} bytes are taken, more than that was sent`);
});

row('handler/errors/400', async (t) =>
  t.strictSame((await put('x', [])).body, { status: 'bad-request', message: 'the body is not a JSON object' }),
);
row('handler/errors/404', async (t) => {
  const job = await client.get(pathOf('no one', '/status'));
  t.strictSame([job.status, job.body], [404, { status: 'not-found', message: "there is no job 'no one'" }]);
  const path = await client.get('/jobs');
  t.strictSame([path.status, path.body], [404, { status: 'not-found', message: 'nothing is at /jobs' }]);
});
row('handler/errors/405', async (t) => {
  const answer = await client.call('DELETE', '/job/x');
  t.equal(answer.status, 405);
  t.strictSame(answer.headers.get('allow')?.split(', ').sort(), ['OPTIONS', 'POST', 'PUT']);
  t.match(answer.body, { status: 'bad-method', message: String });
});
row('handler/errors/409', async (t) => {
  await job('ended', COPY);
  const { status: code, body } = await post('ended', archive);
  const message = "job 'ended' takes no upload: its status is 'job completed'";
  t.strictSame([code, body], [409, { status: 'conflict', message }]);
});
row('handler/errors/422', async (t) => {
  const { status: code, body } = await put('x', metadata({ projects: ['A', 1], name: 'a', owner: 0 }));
  t.equal(code, 422);
  t.strictSame(body, {
    status: 'invalid-input',
    message: 'the job metadata is not valid',
    errors: {
      general: [],
      byKey: {
        projects: "'A' is no project; known: AlphaDB, BetaDB; must hold texts only",
        owner: 'must be a user id: a whole number above 0',
        name: 'must have at least 3 characters',
      },
    },
  });
});
row('handler/errors/500', async (t) => {
  const { status: code, body, headers } = await job('failing', { 'run.sh': 'exit 3' });
  t.equal(code, 500);
  t.strictSame(body, {
    status: 'server-error',
    message: 'command 1 (sh) ended with exit code 3',
    requestId: headers.get('x-request-id'),
  });
});

row('handler/headers/Content-Type of PUT', async (t) => {
  for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON', 'application/x+json'])
    t.equal((await put('typed', metadata(), { 'content-type': type })).status, 204, type);
});
row('handler/headers/Content-Type of POST', async (t) => {
  const tgz = await tarGzOf(COPY);
  for (const type of ['application/binary', 'application/octet-stream; x=1', 'Application/Zip', 'application/gzip'])
    for (const body of [archive, tgz]) {
      await put('typed');
      t.equal((await post('typed', body, { 'content-type': type })).status, 200, type);
    }
  for (const body of [archive, tgz]) {
    await put('x');
    t.equal((await form(['file', body])).status, 200);
  }
  await put('x');
});
row('handler/headers/404 before the body', async (t) => {
  const answer = await raw('POST', '/job/nobody', ['Content-Length: 5', 'Expect: 100-continue']);
  t.strictSame([answer.status, answer.body], [404, { status: 'not-found', message: "there is no job 'nobody'" }]);
});
row('handler/headers/result', async (t) => {
  const { headers, bytes } = await job('headers', COPY);
  t.equal(headers.get('content-length'), String(bytes.length));
  t.match(headers.get('content-disposition'), /^attachment; filename=dataset_u42_t\d+_p\d+\.tgz$/);
});
row('handler/headers/X-Request-Id', async (t) => {
  const answers = await Promise.all([put('x'), client.get(pathOf('x', '/status')), client.get('/nothing')]);
  const ids = answers.map(({ headers }) => headers.get('x-request-id'));
  for (const id of ids) t.match(id, /^\S+$/);
  t.equal(new Set(ids).size, 3, 'each its own');
});

/** Begins a POST, and tells the first line that the server says. */
async function firstLine(lines: readonly string[]): Promise<string> {
  const socket = connect(at.port, '127.0.0.1');
  socket.on('error', () => undefined);
  const heard = once(socket, 'data') as Promise<[Buffer]>;
  socket.write(['POST /job/x HTTP/1.1', 'Host: x', ...lines, '', ''].join('\r\n'));
  const [bytes] = await heard;
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  return bytes.toString().split('\r\n')[0] ?? '';
}

/** The client's going away ends what it began. */
async function waitsAgain(t: Test): Promise<void> {
  while ((await status('x')).status !== 'awaiting upload');
  t.match(await status('x'), { message: 'the upload was cut off: the client went away' });
}

row('handler/limits/upload', async (t) => {
  const announcing = (bytes: number): readonly string[] => [BINARY, `Content-Length: ${bytes}`, 'Expect: 100-continue'];
  t.equal(await firstLine(announcing(MAX_UPLOAD)), 'HTTP/1.1 100 Continue', 'asked for its body');
  await waitsAgain(t);
  t.equal(await firstLine(announcing(MAX_UPLOAD + 1)), 'HTTP/1.1 400 Bad Request', 'before its body');
});
row('handler/headers/Expect', async (t) => {
  const expecting = [BINARY, `Content-Length: ${archive.length}`, 'Expect: 100-continue'];
  t.equal(await firstLine(expecting), 'HTTP/1.1 100 Continue');
  await waitsAgain(t);
  const whole = await raw('POST', '/job/x', expecting, archive);
  t.equal(whole.status, 200);
  t.equal(await firstLine(expecting), 'HTTP/1.1 409 Conflict', 'not wanted, not asked for');
  await put('x');
});
row('handler/limits/metadata', async (t) => {
  const fixed = JSON.stringify(metadata({ description: '' })).length;
  const sized = (bytes: number): unknown => metadata({ description: 'd'.repeat(bytes - fixed) });
  t.equal((await put('x', sized(MIB))).status, 204);
  t.equal((await put('x', sized(MIB + 1))).status, 400);
});
row('handler/limits/job id', async (t) => {
  for (const id of ['1', '../../etc', 'ü €', '%', 'x'.repeat(128), '🧬'.repeat(128)]) {
    t.equal((await put(id)).status, 204, id);
    t.equal((await status(id)).jobId, id);
  }
  t.equal((await put('🧬'.repeat(129))).status, 400);
});
