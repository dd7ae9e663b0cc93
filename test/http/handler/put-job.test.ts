// PUT /job/{job-id}: what is taken, and every refusal of the contract by its own message.

import t from 'tap';
import { fetch } from 'undici';
import { zipOf } from '../../fixtures/archives.ts';
import { raw } from '../http-app.ts';
import { bytesOf, handlerApp, metadata, sh, untar } from './handler-app.ts';

t.test('204 registers a job: it awaits its upload', async (t) => {
  const app = await handlerApp(t);
  const full = metadata({
    owner: 9007199254740993n.toString(),
    description: 'long',
    summary: '',
    origin: 'direct-upload',
    handlerParams: { text: 'a', number: 1, flag: false },
    projects: ['BetaDB', 'AlphaDB'],
    unknown: { keys: ['are', 'allowed'] },
    ownerIsNumber: 'too',
  });
  // Written by hand: the number is beyond what this language can hold.
  const text = JSON.stringify(full).replace('"9007199254740993"', '9007199254740993');
  const response = await app.put('first', text, { 'content-type': 'application/json; charset=utf-8' });
  t.equal(response.status, 204);
  t.equal(await response.text(), '');
  const status = await (await fetch(app.jobUrl('first', '/status'))).text();
  t.equal(
    status,
    '{"duration":"0s","userId":9007199254740993,"jobId":"first","status":"awaiting upload",' +
      '"projects":["BetaDB","AlphaDB"],"size":0}',
  );
  t.strictSame((await app.jobs.find('first', new Date(), new AbortController().signal))?.registration.handlerParams, {
    text: 'a',
    number: '1',
    flag: 'false',
  });
});

t.test('400 for a body that cannot be read', async (t) => {
  const app = await handlerApp(t);
  const deep = '['.repeat(65) + ']'.repeat(65);
  const cases: readonly (readonly [Buffer | string, string | RegExp])[] = [
    ['{"name": ', /^the body is not JSON: /],
    ['', /^the body is not JSON: /],
    ['[]', 'the body is not a JSON object'],
    ['null', 'the body is not a JSON object'],
    ['"text"', 'the body is not a JSON object'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 'the body is not UTF-8'],
    [deep, 'the body is nested deeper than 64 levels'],
    ['{"handlerParams": {"__proto__": 1}}', "the body holds the key '__proto__', which is not accepted"],
    [JSON.stringify({ name: 'x'.repeat(1_048_576) }), 'the body is larger than 1048576 bytes'],
  ];
  for (const [body, message] of cases) {
    const response = await app.put('x', body);
    t.equal(response.status, 400, String(message));
    t.match(await response.json(), { status: 'bad-request', message });
  }
  t.equal((await fetch(app.jobUrl('x', '/status'))).status, 404, 'nothing was registered');
});

t.test('a body of exactly 1 MiB is taken, with or without its length', async (t) => {
  const app = await handlerApp(t);
  const around = JSON.stringify(metadata({ summary: '' })).length;
  const body = JSON.stringify(metadata({ summary: 's'.repeat(1_048_576 - around) }));
  t.equal(body.length, 1_048_576);
  t.equal((await app.put('mib', body)).status, 204);
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const head = 'Host: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close';
  t.match(await raw(app.port, `PUT /job/chunked HTTP/1.1\r\n${head}\r\n\r\n${chunk}`), 'HTTP/1.1 204');
});

t.test('400 for a type of body that is missing or no JSON', async (t) => {
  const app = await handlerApp(t);
  const head = 'PUT /job/x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}';
  const answer = await raw(app.port, head);
  t.match(answer, 'HTTP/1.1 400');
  t.match(answer, 'there is no Content-Type header: expected application/json');
  const response = await app.put('x', metadata(), { 'content-type': 'text/plain' });
  t.equal(response.status, 400);
  t.match(await response.json(), {
    status: 'bad-request',
    message: "Content-Type 'text/plain' is not supported: expected application/json",
  });
});

t.test('422 with one text per key for everything that is wrong in it', async (t) => {
  const app = await handlerApp(t);
  const cases: readonly (readonly [object, Record<string, string>])[] = [
    [{ projects: undefined }, { projects: 'is required' }],
    [{ projects: 'AlphaDB' }, { projects: 'must be an array of project ids' }],
    [{ projects: [] }, { projects: 'must name at least one project' }],
    [{ projects: ['AlphaDB', 'AlphaDB'] }, { projects: "names 'AlphaDB' twice" }],
    [
      { projects: ['GammaDB', 7] },
      { projects: "'GammaDB' is no project; known: AlphaDB, BetaDB; must hold texts only" },
    ],
    [{ owner: undefined }, { owner: 'is required' }],
    ...[0, -1, 1.5, '42', true, null].map(
      (owner) => [{ owner }, { owner: 'must be a user id: a whole number above 0' }] as const,
    ),
    [{ name: undefined }, { name: 'is required' }],
    [{ name: 'ab' }, { name: 'must have at least 3 characters' }],
    [{ name: 7 }, { name: 'must be text' }],
    [{ name: 'a\0b' }, { name: 'must not hold the character NUL' }],
    [{ name: 'abc\ud800' }, { name: 'holds half of a surrogate pair, which is no character' }],
    [{ description: 1 }, { description: 'must be text' }],
    [{ summary: null }, { summary: 'must be text' }],
    [{ origin: 'mars' }, { origin: 'must be one of galaxy, direct-upload' }],
    [{ handlerParams: [] }, { handlerParams: 'must be an object' }],
    [{ handlerParams: 'x' }, { handlerParams: 'must be an object' }],
    [
      { handlerParams: { a: {}, b: [1], c: null, d: 'fine' } },
      {
        'handlerParams.a': 'must be text, a number, true or false',
        'handlerParams.b': 'must be text, a number, true or false',
        'handlerParams.c': 'must be text, a number, true or false',
      },
    ],
    [
      { owner: 0, name: '', origin: 1 },
      {
        owner: 'must be a user id: a whole number above 0',
        name: 'must have at least 3 characters',
        origin: 'must be one of galaxy, direct-upload',
      },
    ],
  ];
  for (const [changes, byKey] of cases) {
    const response = await app.put('x', metadata(changes));
    t.equal(response.status, 422, JSON.stringify(changes));
    t.strictSame(await response.json(), {
      status: 'invalid-input',
      message: 'the job metadata is not valid',
      errors: { general: [], byKey },
    });
  }
});

t.test('any text of 1 to 128 characters is an id, never a path', async (t) => {
  const app = await handlerApp(t);
  for (const id of ['../../etc', '...', 'a/b', 'ü ☃', '💩'.repeat(128), '-rf', '%2e', 'CON', '<<cwd>>']) {
    const response = await app.job(id, await zipOf({ 'a.txt': 'a' }));
    t.equal(response.status, 200, id);
    t.strictSame(Object.keys(await untar(await bytesOf(response))), ['meta.json', 'dataset.json', 'datafiles/a.txt']);
    t.match(await app.status(id), { jobId: id, status: 'job completed' });
  }
  for (const id of ['x'.repeat(129), 'a\nb', 'a\u0085b']) {
    const response = await app.put(id);
    t.equal(response.status, 400);
    t.match(await response.json(), { message: 'a job id has 1 to 128 characters, and no control characters' });
    t.equal((await fetch(app.jobUrl(id, '/status'))).status, 404);
  }
});

t.test('409 while the job runs; a finished one gives way to a new registration and loses its result', async (t) => {
  const app = await handlerApp(t, { commands: [sh('mkdir output; echo "$1" > output/x', '<<ds-name>>')] });
  const archive = await zipOf({ 'a.txt': 'a' });
  const first = await app.job('one', archive, metadata({ name: 'first' }));
  t.equal((await untar(await bytesOf(first)))['datafiles/x'], 'first\n');
  t.equal((await app.put('one', metadata({ name: 'second' }))).status, 204);
  t.match(await app.status('one'), { status: 'awaiting upload', size: 0, duration: '0s' });
  const result = await fetch(app.jobUrl('one', '/result'));
  t.equal(result.status, 404);
  t.match(await result.json(), { message: "job 'one' has no result: its status is 'awaiting upload'" });
  t.equal((await app.put('one', metadata({ name: 'third' }))).status, 204, 'one that waits gives way, too');
  t.equal((await untar(await bytesOf(await app.post('one', archive))))['datafiles/x'], 'third\n');
});
