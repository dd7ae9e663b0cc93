import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import t, { type Test } from 'tap';
import { type HeaderLine, headerLine } from '../../../../http/kernel/answers/header-line.ts';
import { writeWholeHead } from '../../../../http/kernel/answers/whole-head.ts';

interface Case {
  readonly code: number;
  readonly headers: readonly string[];
  readonly body: string;
}

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT';
const CODES = [200, 201, 202, 207, 299, 300, 307, 400, 404, 409, 422, 499, 500, 503];
const NAMES = ['x-request-id', 'vary', 'etag', 'location', 'cache-control', 'content-type', 'x-Odd_Name'];
const VALUES = ['', 'a', '"tag"', 'application/json; charset=utf-8', 'caf\xe9', '\t tabs \t', 'a, b', 'x'.repeat(5000)];
const REQUESTS = [
  'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
  'HEAD / HTTP/1.1\r\nhost: x\r\n\r\n',
  'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
  'GET / HTTP/1.1\r\nhost: x\r\nconnection: Keep-Alive\r\n\r\n',
  'GET / HTTP/1.0\r\n\r\n',
  'GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n',
  'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc',
  'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n',
  'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
];

const linesOf = (headers: readonly string[]): HeaderLine[] =>
  headers.flatMap((name, i) => (i % 2 === 0 ? [headerLine(name, headers[i + 1] ?? '')] : []));

/** Pseudo-random numbers in [0, 1), the same for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function caseOf(next: () => number): Case {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T;
  const body = 'é'.repeat(Math.floor(next() * 40)) + 'x'.repeat(Math.floor(next() * 20_000));
  const headers = NAMES.filter(() => next() < 0.5).flatMap((name) => [name, pick(VALUES)]);
  return { code: pick(CODES), headers: [...headers, 'content-length', String(Buffer.byteLength(body))], body };
}

type Answering = (request: IncomingMessage, response: ServerResponse, answer: Case) => void;

/** Answers requests on one port; `ask` resolves with all that comes until the server ends the connection, which it is told to. */
async function serving(t: Test, answer: Answering, keptMs = 5_000) {
  let next: Case | undefined;
  const server = createServer({ optimizeEmptyRequests: true, requireHostHeader: false }, (request, response) => {
    if (next) answer(request, response, next);
    const { socket } = request;
    response.once('finish', () => socket.end());
  });
  server.keepAliveTimeout = keptMs;
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return (request: string, of: Case): Promise<string> => {
    next = of;
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    const chunks: Buffer[] = [];
    return new Promise((resolve, reject) => {
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.on('error', reject).on('end', () => resolve(Buffer.concat(chunks).toString('latin1')));
    });
  };
}

const obvious: Answering = (_request, response, { code, headers, body }) => {
  response.writeHead(code, [...headers, 'Date', DATE]);
  response.end(body);
};

t.test('an answer is byte for byte that of writeHead, whatever is asked and answered', async (t) => {
  let written = 0;
  const fast = await serving(t, (request, response, answer) => {
    const half = 2 * Math.floor(answer.headers.length / 4);
    const lists = [linesOf(answer.headers.slice(0, half)), linesOf(answer.headers.slice(half))];
    if (!writeWholeHead(request, response, answer.code, lists, DATE)) return obvious(request, response, answer);
    written++;
    response.end(answer.body);
  });
  const slow = await serving(t, obvious);
  const next = random(20_261_122);
  for (let n = 0; n < 180; n++) {
    const answer = caseOf(next);
    const request = REQUESTS[n % REQUESTS.length] ?? '';
    const [ours, theirs] = [await fast(request, answer), await slow(request, answer)];
    if (ours !== theirs) return t.equal(ours, theirs, `${n}: ${JSON.stringify(request)}`);
  }
  t.equal(written, 80, 'those without a body that keep the connection');
  return undefined;
});

t.test('what ends the connection, or has no body by its code, is left to writeHead', async (t) => {
  const taken: boolean[] = [];
  const trying = (headers: readonly string[]): Answering => {
    return (request, response, { code, body }) => {
      taken.push(writeWholeHead(request, response, code, [linesOf(headers)], DATE));
      if (!response.headersSent) response.writeHead(code, [...headers]);
      response.end(body);
    };
  };
  const get = REQUESTS[0] ?? '';
  const answer: Case = { code: 200, headers: [], body: '' };
  await (await serving(t, trying(['connection', 'close', 'content-length', '0'])))(get, answer);
  for (const code of [204, 304]) await (await serving(t, trying([])))(get, { ...answer, code });
  await (await serving(t, trying(['content-length', '0']), 0))(get, answer);
  await (
    await serving(t, (request, response, answered) => {
      response.writeHead(200);
      trying(['content-length', '0'])(request, response, answered);
    })
  )(get, answer);
  await (await serving(t, trying(['content-length', '0'])))(get, answer);
  t.strictSame(taken, [false, false, false, false, false, true]);
});
