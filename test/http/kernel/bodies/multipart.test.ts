import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import t from 'tap';
import { FormData, fetch } from 'undici';
import { aborted } from '../../../../engine/runtime/failure.ts';
import { type MultipartPart, readMultipart } from '../../../../http/kernel/bodies/multipart.ts';
import { badRequest, HttpError } from '../../../../http/kernel/pipeline/errors.ts';
import { CLIENT_FORMS, CLIENT_NAMES } from '../../../fixtures/client-forms.ts';
import { dial, httpApp, route } from '../../http-app.ts';

const LIMITS = { parts: 20, fieldBytes: 100 };
const BOUNDARY = 'XboundaryX';

interface SentPart {
  readonly name: string;
  readonly fileName?: string;
  readonly type?: string;
  readonly content: Buffer;
}

function encode(parts: readonly SentPart[]): Buffer {
  const blocks = parts.flatMap(({ name, fileName, type, content }) => [
    Buffer.from(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${fileName === undefined ? '' : `; filename="${fileName}"`}\r\n${
        type === undefined ? '' : `content-type: ${type}\r\n`
      }\r\n`,
    ),
    content,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...blocks, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

const digestOf = (bytes: Buffer): string => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;

t.test('a part that does not have its digest is refused, and one that nobody reads is skipped', async (t) => {
  const [large, small] = [randomBytes(1024 * 1024), Buffer.from('small')];
  const form = (digest: string): Buffer[] => {
    const head = (name: string, of: string): string =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="f"\r\nContent-Digest: ${of}\r\n\r\n`;
    const pieces = [head('skipped', digestOf(small)), large, '\r\n', head('read', digest), small];
    return split(
      Buffer.concat([...pieces, `\r\n--${BOUNDARY}--\r\n`].map((piece) => Buffer.from(piece as string))),
      [50_000],
    );
  };
  const read: [string, string][] = [];
  const onPart = async ({ name, body }: MultipartPart): Promise<void> => {
    if (name === 'read') read.push([name, (await buffer(body)).toString()]);
  };
  const signal = new AbortController().signal;
  await readMultipart(incoming(form(digestOf(small))), LIMITS, onPart, signal);
  t.strictSame(read, [['read', 'small']]);
  await t.rejects(readMultipart(incoming(form(digestOf(large))), LIMITS, onPart, signal), {
    code: 400,
    message: `part 'read': header Content-Digest says ${digestOf(large)}, but it has ${digestOf(small)}`,
  });
  await t.rejects(readMultipart(incoming(form('sha-256=x')), LIMITS, onPart, signal), {
    code: 400,
    message: "part 'read': header Content-Digest holds 'sha-256=x': expected such as sha-256=:BASE64:",
  });
  t.equal(read.length, 1);
});

/** A request that delivers the chunks, and has ended well unless told otherwise. */
function incoming(
  chunks: readonly Buffer[],
  contentType = `multipart/form-data; boundary=${BOUNDARY}`,
): IncomingMessage {
  const body = Readable.from(chunks, { objectMode: false }) as unknown as IncomingMessage;
  return Object.assign(body, { headers: { 'content-type': contentType }, complete: true });
}

function split(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = Math.max(1, sizes[i % sizes.length] ?? bytes.length);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

async function readAll(request: IncomingMessage, limits = LIMITS): Promise<SentPart[]> {
  const parts: SentPart[] = [];
  const onPart = async ({ name, fileName, contentType, body }: MultipartPart): Promise<void> => {
    const content = await buffer(body);
    parts.push({ name, ...(fileName === undefined ? {} : { fileName }), type: contentType, content });
  };
  await readMultipart(request, limits, onPart, new AbortController().signal);
  return parts;
}

const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'accepted',
    (error: unknown) => (error instanceof HttpError ? `${error.code} ${error.message}` : String(error)),
  );

const FORM: readonly SentPart[] = [
  { name: 'details', type: 'application/json', content: Buffer.from('{"a":"é"}') },
  {
    name: 'dataFile',
    fileName: 'ä 漢.txt',
    type: 'text/csv',
    content: Buffer.from(`a\r\n--${BOUNDARY.slice(0, -1)}\r\n--\r\n\r\nb`),
  },
  { name: 'empty', fileName: 'empty.bin', type: 'application/octet-stream', content: Buffer.alloc(0) },
  { name: 'url', type: 'text/plain', content: Buffer.alloc(0) },
];

t.test('parts arrive whole and in order wherever the chunks are cut', async (t) => {
  const bytes = encode(FORM);
  for (let cut = 1; cut < bytes.length; cut++) {
    const parts = await readAll(incoming([bytes.subarray(0, cut), bytes.subarray(cut)]));
    if (JSON.stringify(parts) !== JSON.stringify(FORM)) t.same(parts, FORM, `cut at ${cut}`);
  }
  t.same(await readAll(incoming(split(bytes, [1]))), FORM);
  t.same(await readAll(incoming([bytes])), FORM);
});

t.test('what was sent is what arrives, for any parts and any chunks', async (t) => {
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom('\r\n', `\r\n--${BOUNDARY.slice(0, 5)}`, '--', '\r', `${BOUNDARY}--`)
      .map((text) => Buffer.from(text)),
  );
  const part = fc.record({
    name: fc.stringMatching(/^[a-zA-Z][a-zA-Z ;=]{0,10}$/),
    fileName: fc.stringMatching(/^[a-zA-Z./ ;=']{1,12}$/),
    type: fc.constantFrom('text/plain', 'application/octet-stream', 'x/y'),
    content,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      async (parts, sizes) => {
        const got = await readAll(incoming(split(encode(parts), sizes)));
        return (
          JSON.stringify(got) ===
          JSON.stringify(parts.map(({ name, fileName, type, content }) => ({ name, fileName, type, content })))
        );
      },
    ),
    { numRuns: 300 },
  );
  t.pass();
});

t.test('random bytes are refused or read, and never anything else', async (t) => {
  const outcomes = new Set<string>();
  const bytes = encode(FORM);
  for (let i = 0; i < 300; i++) {
    const noisy = Buffer.from(bytes);
    for (let n = 0; n < 3; n++) noisy[randomBytes(2).readUInt16BE() % noisy.length] = randomBytes(1)[0] ?? 0;
    outcomes.add((await refusal(readAll(incoming(split(noisy, [7, 64]))))).slice(0, 3));
  }
  t.same(
    [...outcomes].filter((outcome) => outcome !== '400' && outcome !== 'acc'),
    [],
  );
});

t.test('file names come as they were sent, encoded ones decoded', async (t) => {
  const names: Record<string, string> = {
    'filename="a/../b.txt"': 'a/../b.txt',
    'filename="C:\\\\x.txt"': 'C:\\x.txt',
    "filename*=UTF-8''na%C3%AFve%20%E6%BC%A2.txt": 'naïve 漢.txt',
    'filename="a\\"b.txt"': 'a"b.txt',
    'filename=bare.txt': 'bare.txt',
    'filename="a%22b%22%0a%0D%25.txt"': 'a"b"\n\r%25.txt',
    'filename="x.txt"; filename*=UTF-8\'\'a%2522b%22.txt': 'a%22b".txt',
    'filename*=UTF-8\'\'a%2522b%22.txt; filename="x.txt"': 'a%22b".txt',
    'filename="end\\"': 'end\\',
  };
  for (const [parameter, expected] of Object.entries(names)) {
    const body = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="f"; ${parameter}\r\n\r\nx\r\n--${BOUNDARY}--`;
    t.equal((await readAll(incoming([Buffer.from(body)])))[0]?.fileName, expected, parameter);
  }
});

t.test('a file input that was left empty is no part', async (t) => {
  const empty = { name: 'docFile', fileName: '', type: 'application/octet-stream', content: Buffer.alloc(0) };
  const named = { ...empty, content: Buffer.from('x') };
  t.same(await readAll(incoming([encode([empty, ...FORM])])), FORM);
  t.same(await readAll(incoming(split(encode([named]), [3]))), [named]);
});

t.test('a body that is no multipart, is cut off or breaks a limit is refused', async (t) => {
  const bytes = encode(FORM);
  const field = (content: string, name = 'f'): Buffer => encode([{ name, content: Buffer.from(content) }]);
  const many = Array.from({ length: 21 }, (_, i) => ({ name: `p${i}`, content: Buffer.from('x') }));
  const nameless = Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data\r\n\r\nx\r\n--${BOUNDARY}--`);
  const cases: Record<string, [request: IncomingMessage, refusal: RegExp]> = {
    'other type': [
      incoming([bytes], 'application/json'),
      /^415 content type 'application\/json': expected multipart\/form-data/,
    ],
    'no type': [incoming([bytes], ''), /^415 /],
    'no boundary': [incoming([bytes], 'multipart/form-data'), /^400 the multipart body cannot be read: .*[Bb]oundary/],
    'endless boundary': [incoming([bytes], `multipart/form-data; boundary=${'b'.repeat(300)}`), /^400 /],
    'other boundary': [
      incoming([bytes], 'multipart/form-data; boundary=other'),
      /^400 the multipart body is malformed/,
    ],
    'no body': [incoming([]), /^400 the multipart body is malformed/],
    'no end': [
      incoming([bytes.subarray(0, bytes.length - 60)]),
      /^400 .*malformed, in or after part '(dataFile|empty)'/,
    ],
    'too many parts': [incoming([encode(many)]), /^400 the body has more than 20 parts/],
    'long field': [incoming([field('x'.repeat(101))]), /^400 part 'f' is longer than 100 bytes/],
    'long name': [incoming([field('x', 'n'.repeat(129))]), /^400 a part's name is longer than 128 bytes/],
    'long file name': [
      incoming([encode([{ name: 'f', fileName: 'n'.repeat(1025), content: Buffer.from('x') }])]),
      /^400 part 'f': the file name is longer than 1024 bytes/,
    ],
    'no name': [incoming([nameless]), /^400 part 1 of the body has no name/],
  };
  for (const [what, [request, expected]] of Object.entries(cases))
    t.match(await refusal(readAll(request)), expected, what);
});

t.test('each limit of a body is tested at its bound and one beyond', async (t) => {
  const x = (bytes: number): string => 'x'.repeat(bytes);
  const content = Buffer.from('x');
  const limits: Readonly<
    Record<string, readonly [bound: number, parts: (n: number) => readonly SentPart[], says: RegExp]>
  > = {
    parts: [
      20,
      (n) => Array.from({ length: n }, (_, i) => ({ name: `p${i}`, content })),
      /^400 the body has more than 20 parts$/,
    ],
    'bytes of a field': [
      100,
      (n) => [{ name: 'f', content: Buffer.alloc(n) }],
      /^400 part 'f' is longer than 100 bytes$/,
    ],
    'bytes of a name': [
      128,
      (n) => [{ name: x(n), content }],
      /^400 a part's name is longer than 128 bytes: 'x{60}\.\.\.' has 129$/,
    ],
    'bytes of a file name': [
      1_024,
      (n) => [{ name: 'f', fileName: x(n), content }],
      /^400 part 'f': the file name is longer than 1024 bytes: 'x{60}\.\.\.' has 1025$/,
    ],
  };
  for (const [what, [bound, parts, says]] of Object.entries(limits)) {
    t.equal((await readAll(incoming([encode(parts(bound))]))).length, parts(bound).length, what);
    t.match(await refusal(readAll(incoming([encode(parts(bound + 1))]))), says, what);
  }
});

const bodyOf = (...pieces: readonly string[]): Buffer => Buffer.from(pieces.join(''), 'latin1');
const FIRST = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="dataFile"; filename="a.txt"\r\n\r\n1\r\n`;
const END = `--${BOUNDARY}--\r\n`;

t.test('a part that cannot be used is refused by its place, whatever is wrong with it', async (t) => {
  const named = 'form-data; name="dataFile"; filename="b.txt"';
  const heads: Readonly<Record<string, [head: string, fault: RegExp]>> = {
    'no disposition': ['Content-Type: text/plain; name="b.txt"', /no header Content-Disposition/],
    'no headers': ['', /no header Content-Disposition/],
    attachment: [
      'Content-Disposition: attachment; name="docFile"; filename="b.pdf"',
      /'attachment': expected 'form-data'/,
    ],
    file: ['Content-Disposition: file; name="dataFile"; filename="b.txt"', /'file': expected 'form-data'/],
    inline: ['Content-Disposition: inline', /'inline': expected 'form-data'/],
    'bare LF in the name': ['Content-Disposition: form-data; name="dataFile"; filename="b\nc.txt"', /no header/],
    'bare CR in the name': ['Content-Disposition: form-data; name="dataFile"; filename="b\rc.txt"', /no header/],
    'lines that end with LF': [`Content-Type: text/plain\nContent-Disposition: ${named}`, /no header/],
    'headers of 20 kB': [`X-Long: ${'x'.repeat(20_000)}\r\nContent-Disposition: ${named}`, /no header/],
    'forty headers': [`${'X-More: x\r\n'.repeat(40)}Content-Disposition: ${named}`, /no header/],
    'a file name of 20 kB': [
      `Content-Disposition: form-data; name="a"; filename="${'x'.repeat(20_000)}"`,
      /not well-formed/,
    ],
    'no colon': [`Content-Disposition ${named}`, /no header/],
    'a line before that is none': [`what is this\r\nContent-Disposition: ${named}`, /no header/],
    'no name': ['Content-Disposition: form-data; filename="b.txt"', /has no name/],
    'an empty name': ['Content-Disposition: form-data; name=""; filename="b.txt"', /has no name/],
    'two dispositions': [`Content-Disposition: ${named}\r\nContent-Disposition: ${named}`, /twice/],
    'two file names': [`Content-Disposition: ${named}; filename="c.txt"`, /parameter 'filename' twice/],
    'a quote that is not closed': [
      'Content-Disposition: form-data; name="dataFile"; filename="b.txt',
      /not well-formed/,
    ],
    'a quote in the middle': ['Content-Disposition: form-data; name="f"; filename="b"c.txt"', /not well-formed/],
    'text behind a quote': ['Content-Disposition: form-data; name="f"; filename="b" c.txt', /not well-formed/],
    'a Latin-1 file name': [
      'Content-Disposition: form-data; name="f"; filename="Gr\xf6\xdfe.txt"',
      /'Größe\.txt' in Windows-1252/,
    ],
    'a Shift-JIS file name': [
      'Content-Disposition: form-data; name="f"; filename="\x83e\x83X\x83g.txt"',
      /'テスト\.txt' in Shift-JIS/,
    ],
    'a Latin-1 name': ['Content-Disposition: form-data; name="\xf6"', /a name that cannot be used: '\\xf6'/],
    'half an escape': ["Content-Disposition: form-data; name=f; filename*=UTF-8''a%C3.txt", /RFC 8187/],
    'a charset that is none': ["Content-Disposition: form-data; name=f; filename*=what''a.txt", /RFC 8187/],
  };
  for (const [what, [head, fault]] of Object.entries(heads)) {
    for (const chunk of [100_000, 7]) {
      const body = bodyOf(FIRST, `--${BOUNDARY}\r\n${head}${head ? '\r\n' : ''}\r\n2\r\n`, END);
      const found = await refusal(readAll(incoming(split(body, [chunk]))));
      t.match(found, fault, what);
      t.match(found, /^400 part 2 of the body \(behind part 'dataFile'\) /, what);
    }
  }
});

t.test('a part whose headers have no end, or that stands outside of the delimiters, is refused', async (t) => {
  const second = FIRST.replace('a.txt', 'b.txt');
  const bodies: Readonly<Record<string, [body: Buffer, fault: RegExp]>> = {
    'no empty line, last': [
      bodyOf(FIRST, `--${BOUNDARY}\r\nContent-Disposition: form-data\r\n`, END),
      /part 2 .*do not end/,
    ],
    'no empty line, first': [
      bodyOf(`--${BOUNDARY}\r\nContent-Disposition: form-data\r\n`, FIRST, END),
      /part 1 .*do not end/,
    ],
    'a part behind the end': [bodyOf(FIRST, END, second, END), /behind its closing delimiter is another part/],
    'a part before the start': [
      bodyOf(`-${second}`, FIRST, END),
      /before its first delimiter '--XboundaryX' is a part/,
    ],
    'delimiters that end with LF': [
      bodyOf(FIRST.replaceAll('\r\n', '\n'), END),
      /before its first delimiter|malformed/,
    ],
  };
  for (const [what, [body, fault]] of Object.entries(bodies))
    for (const chunk of [100_000, 7, 1]) t.match(await refusal(readAll(incoming(split(body, [chunk])))), fault, what);
});

t.test('text outside of the delimiters is ignored', async (t) => {
  const text = 'This is a multi-part message in MIME format.';
  for (const body of [bodyOf(text, '\r\n', FIRST, END), bodyOf(FIRST, END, text), bodyOf(FIRST, END, '\r\n\r\n')])
    for (const chunk of [100_000, 5]) t.equal((await readAll(incoming(split(body, [chunk])))).length, 1);
});

t.test('file names in five scripts come alike from every client', async (t) => {
  for (const name of CLIENT_NAMES)
    for (const [client, disposition] of Object.entries(CLIENT_FORMS)) {
      const body = bodyOf(`--${BOUNDARY}\r\nContent-Disposition: ${disposition(name)}\r\n\r\nx\r\n`, END);
      const [part] = await readAll(incoming([body]));
      t.strictSame([part?.name, part?.fileName], ['dataFile', name], `${client}: ${name}`);
    }
});

t.test('the first fault of a handler ends the reading, and later parts are not seen', async (t) => {
  const seen: string[] = [];
  const onPart = async (part: MultipartPart): Promise<void> => {
    seen.push(part.name);
    if (part.name === 'dataFile') throw badRequest('no such file type');
  };
  const request = incoming(split(encode(FORM), [50]));
  t.equal(await refusal(readMultipart(request, LIMITS, onPart, new AbortController().signal)), '400 no such file type');
  t.same(seen, ['details', 'dataFile']);
  t.notOk(request.destroyed, 'the connection is left for the answer');
});

t.test('what a handler does not read is skipped', async (t) => {
  const big = { name: 'big', fileName: 'b', content: Buffer.alloc(1_000_000) };
  const names: string[] = [];
  const onPart = async (part: MultipartPart): Promise<void> => {
    names.push(part.name);
  };
  const request = incoming(split(encode([big, ...FORM]), [65_536]));
  await readMultipart(request, LIMITS, onPart, new AbortController().signal);
  t.same(names, ['big', 'details', 'dataFile', 'empty', 'url']);
});

t.test('a handler that destroys its body is told so instead of waiting for ever', async (t) => {
  const big = { name: 'big', fileName: 'b', content: Buffer.alloc(1_000_000) };
  const onPart = async (part: MultipartPart): Promise<void> => {
    part.body.destroy();
  };
  const request = incoming(split(encode([big]), [65_536]));
  await t.rejects(readMultipart(request, LIMITS, onPart, new AbortController().signal), {
    kind: 'defect',
    message: /body of part 'big' was destroyed/,
  });
});

t.test('an abort ends the body of the handler under way, and is the reason', async (t) => {
  const stop = new AbortController();
  const endless = new Readable({ read() {} });
  endless.push(encode(FORM).subarray(0, 250));
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  const request = Object.assign(endless, { headers, complete: false }) as unknown as IncomingMessage;
  let bodyError: unknown;
  const onPart = async (part: MultipartPart): Promise<void> => {
    if (part.fileName === undefined) return;
    stop.abort(aborted('shutdown'));
    await buffer(part.body).catch((error: unknown) => {
      bodyError = error;
    });
  };
  await t.rejects(readMultipart(request, LIMITS, onPart, stop.signal), { kind: 'aborted', message: 'shutdown' });
  t.match(bodyError, aborted('shutdown'));
});

t.test('parts that wait behind a slow handler are not read ahead', async (t) => {
  const release = Promise.withResolvers<void>();
  const files = Array.from({ length: 15 }, (_, i) => ({
    name: `f${i}`,
    fileName: 'f',
    content: Buffer.alloc(200_000, i),
  }));
  let delivered = 0;
  const bytes = encode(files);
  async function* chunks(): AsyncGenerator<Buffer> {
    for (const chunk of split(bytes, [16_384])) {
      delivered += chunk.length;
      yield chunk;
    }
  }
  const request = Object.assign(Readable.from(chunks(), { objectMode: false, highWaterMark: 16_384 }), {
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    complete: true,
  }) as unknown as IncomingMessage;
  const sizes: number[] = [];
  const reading = readMultipart(
    request,
    LIMITS,
    async (part) => {
      // The first file is read at once; its handler then dawdles while the others knock.
      sizes.push((await buffer(part.body)).length);
      if (sizes.length === 1) await release.promise;
    },
    new AbortController().signal,
  );
  for (let before = -1; before !== delivered; ) {
    before = delivered;
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
  }
  t.ok(delivered < 700_000, `${delivered} of ${bytes.length} bytes were taken`);
  release.resolve();
  await reading;
  t.same(
    sizes,
    files.map(() => 200_000),
  );
});

t.test('forms of a real client arrive, and a client that hangs up ends the reading', async (t) => {
  const failed = Promise.withResolvers<unknown>();
  const app = await httpApp(t, [
    route(
      '/form',
      'open',
      async (context) => {
        const parts: [string, string | undefined, number][] = [];
        const onPart = async (part: MultipartPart): Promise<void> => {
          parts.push([part.name, part.fileName, (await buffer(part.body)).length]);
        };
        try {
          await readMultipart(context.request, LIMITS, onPart, context.signal);
        } catch (error) {
          failed.resolve(error);
          throw error;
        }
        await context.json(200, parts);
      },
      { method: 'POST' },
    ),
  ]);
  const form = new FormData();
  form.set('details', '{}');
  form.set('dataFile', new Blob([Buffer.alloc(3_000_000)]), 'a.bin');
  t.same(await (await fetch(`${app.url}/form`, { method: 'POST', body: form })).json(), [
    ['details', null, 2],
    ['dataFile', 'a.bin', 3_000_000],
  ]);
  const client = dial(app.port);
  const head = `POST /form HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\n\r\n`;
  client.socket.write(Buffer.concat([Buffer.from(head), encode(FORM).subarray(0, 200)]), () => client.socket.destroy());
  t.match(await failed.promise, { kind: 'aborted', message: 'the client went away' });
});
