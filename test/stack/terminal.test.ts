// The command line on a real terminal.

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { geneList } from '../fixtures/datasets.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { TerminalSession } from './terminal-session.ts';

/** What outlives a test. */
const file = t;
const dir = await tempDir(t);
const base = String(await freePortBase());
let app = await up(t, dir, ['--port-base', base]);

/** Says what ended the last program, and whether the terminal is as a shell needs it. */
const STATE = 'echo "code $?, $(stty -a | grep -ow -- "-\\?icanon\\|-\\?echo" | tr "\\n" " ")"';
const AS_BEFORE = /^code 0, (icanon echo|echo icanon)$/m;

async function shell(t: Test, columns = 100, rows = 50): Promise<TerminalSession> {
  const terminal = await TerminalSession.open(t, columns, rows);
  await terminal.type('echo what was there before');
  await terminal.until(/^what was there before$/m);
  return terminal;
}

t.test('top shows lanes, dependencies and daemons, and leaves the terminal as it was, however it ends', async (t) => {
  const terminal = await shell(t);
  const ends = {
    q: () => terminal.key('q'),
    'Ctrl-C': () => terminal.key('C-c'),
    SIGTERM: () => terminal.signal('SIGTERM'),
  };
  for (const [name, end] of Object.entries(ends)) {
    await terminal.type(`longshore top --data ${dir} --interval 0.2`);
    const seen = await terminal.until(
      /^lane .*\n(.*\n)*import +\d+\/10 .* \d\.?\d* +\d.*\n(.*\n)*daemon .*\n(.*\n)*q quits$/m,
    );
    t.match(seen, /^longshore top {3}http:\/\/127\.0\.0\.1:\d+ {3}version \S+ {3}healthy {3}up /m, name);
    t.match(seen, /^(\d+) of \1 dependencies are healthy: /m);
    t.notMatch(seen, /what was there before/);
    await end();
    await terminal.until(/^what was there before\n(.*\n)*\$ $/m);
    await terminal.type(STATE);
    t.match(await terminal.until(/^code \d/m), AS_BEFORE, name);
    await terminal.type('clear; echo what was there before');
    await terminal.until(/^what was there before\n\$ $/m);
  }
});

t.test('top fits a terminal that is resized, and its last line stays', async (t) => {
  const terminal = await shell(t);
  await terminal.type(`longshore top --data ${dir}`);
  await terminal.until(/^q quits$/m);
  await terminal.resize(60, 12);
  const seen = await terminal.until(/^…\nq quits$/m);
  t.equal(seen.split('\n').length, 12);
  await terminal.key('q');
  await terminal.until(/^\$ $/m);
});

t.test('top says that the server is away, and goes on when it is back', async (t) => {
  const terminal = await shell(t);
  await terminal.type(`longshore top --data ${dir} --interval 0.2`);
  await terminal.until(/^lane /m);
  t.equal(await app.stop(), 0);
  const away = await terminal.until(/^no answer since \d\d:\d\d:\d\d, retrying: http/m);
  t.match(away, /^import +\d+\/10/m, 'what it was remains to be seen');
  app = await up(file, dir, ['--port-base', base]);
  t.notMatch(await terminal.until(/healthy(.*\n)memory /), /no answer/);
  await terminal.key('q');
  await terminal.until(/^what was there before\n(.*\n)*\$ $/m);
  await terminal.type(STATE);
  t.match(await terminal.until(/^code \d/m), AS_BEFORE);
});

t.test('an upload shows how far it is, in place, and fits a terminal that becomes narrower', async (t) => {
  const terminal = await shell(t);
  const large = join(dir, 'large.bin');
  const size = 64_000_000;
  await writeFile(large, Buffer.alloc(size));
  // A server that takes the first half, and the rest when the test has seen the bar.
  const goOn = Promise.withResolvers<void>();
  const server = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let bytes = 0;
    for await (const piece of request) {
      bytes += (piece as Buffer).length;
      if (bytes > size / 2) await goOn.promise;
    }
    response
      .writeHead(202, { 'content-type': 'application/json' })
      .end(JSON.stringify({ datasetId: `bytes ${bytes}` }));
  };
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await terminal.type(`longshore upload ${large} --server ${url} --token x --type lightweight@1.0`);
  // What the kernel's buffers hold goes out without being read: a few megabytes more than the half.
  const seen = await terminal.until(/^large\.bin {2}\[#+\.+\] {3}[5-9]\d% {2}\d\d\.\d MB of 64\.0 MB {2}0 B\/s$/m);
  t.equal(seen.match(/large\.bin {2}\[/g)?.length, 1, 'one line, drawn again and again');
  await terminal.resize(50, 50);
  await terminal.until(/^large\.bin {2}\[#+\.+\] {3}[5-9]\d% {2}\d\d\.\d MB of 64\.0 MB$/m);
  goOn.resolve();
  const ended = await terminal.until(/^bytes 64000\d{3}$/m);
  t.match(ended, /^large\.bin {2}\[#+\] {2}100% {2}64\.0 MB.*\nbytes/m);
});

t.test('a dataset is followed step by step, and then downloaded', async (t) => {
  const terminal = await shell(t);
  const genes = join(dir, 'genes.txt');
  await writeFile(genes, geneList(50));
  const about = "--type genelist@1.0 --target AlphaDB --target BetaDB --name 'My genes' --summary 'Of interest'";
  await terminal.type(`ID=$(longshore upload ${genes} ${about} --data ${dir} --watch)`);
  const seen = await terminal.until(/^\[#{24}\] 6\/6 {2}installed after \d/m);
  t.match(
    seen,
    new RegExp(
      `^genes\\.txt  \\[#+\\]  100%  .*\\n${['upload        success', 'import        complete', 'AlphaDB data  complete', 'AlphaDB meta  complete', 'BetaDB data   complete', 'BetaDB meta   complete'].join('\\n')}\\n`,
      'm',
    ),
  );
  await terminal.type(`longshore datasets download $ID --data ${dir} --out ${join(dir, 'out.zip')}`);
  t.match(await terminal.until(/^\/.*out\.zip$/m), /^out\.zip {2}\[#+\] {2}100% {2}\d+ k?B {2}/m);
  await terminal.type(`longshore datasets list --data ${dir}`);
  t.match(await terminal.until(/^id .*name$/m), /^\w{16} {2}\S+ {2}genelist@1\.0 {2}installed {2}My genes$/m);
});

t.test('Ctrl-C ends the following, not the dataset, and says so', async (t) => {
  const terminal = await shell(t);
  const server = createServer((_, response) => {
    const status = { upload: { status: 'success' }, import: { status: 'in-progress' } };
    response.end(JSON.stringify({ datasetId: 'x', installTargets: ['AlphaDB'], status }));
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  await terminal.type(
    `longshore watch x --server http://127.0.0.1:${(server.address() as AddressInfo).port} --token x`,
  );
  await terminal.until(/^import {8}in-progress\n(.*\n)*\[#{6}\.{18}\] 1\/4 {2}\d+ s$/m);
  await terminal.key('C-c');
  t.match(
    await terminal.until(/^next: /m),
    /^\[#{6}.*\n.*longshore watch: stopped by SIGINT\nnext: the server continues to process the dataset; 'longshore watch ID' follows it again$/m,
  );
  await terminal.type(STATE);
  t.match(await terminal.until(/^code \d/m), /^code 1, (icanon echo|echo icanon)$/m);
});
