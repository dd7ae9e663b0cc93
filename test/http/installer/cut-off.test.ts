// An upload whose connection breaks after every single byte of it, announced and in chunks.

import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { soundDetails } from './installation.ts';
import { type App, installerApp, NOTHING, remains } from './installer-app.ts';

const db = await cacheDatabase(t);
const CLOSING = '--B--';

const body = (): string =>
  [
    '--B\r\ncontent-disposition: form-data; name="docFile"; filename="read.me"\r\n\r\nread me\r\n',
    `--B\r\ncontent-disposition: form-data; name="details"\r\n\r\n${JSON.stringify(soundDetails())}\r\n`,
    '--B\r\ncontent-disposition: form-data; name="dataFile"; filename="a.txt"\r\n\r\nPF3D7_0100100\r\n',
    `${CLOSING}\r\n`,
  ].join('');

const head = (user: string, length: string): string =>
  `POST /datasets HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${user}\r\n` +
  `content-type: multipart/form-data; boundary=B\r\n${length}\r\n\r\n`;

/** Sends what there is of the request and hangs up. */
async function sendAndHangUp(app: App, part: string): Promise<void> {
  const socket = connect(app.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => undefined).resume();
  const closed = once(socket, 'close');
  await new Promise((resolve) => socket.write(part, resolve));
  // So that the server is somewhere in it, and not always at its head: it asks the database now and then.
  for (let rounds = 0; rounds < 4; rounds++) await db.query('select 1');
  socket.destroy();
  await closed;
}

/** The answer to the request, from its first line on. */
async function sendWhole(app: App, request: string): Promise<string> {
  const socket = connect(app.port, '127.0.0.1');
  socket.write(request.replace('\r\nhost: x', '\r\nhost: x\r\nconnection: close'));
  return Buffer.concat(await socket.toArray()).toString();
}

for (const [how, lengthOf, framed] of [
  ['announced', (text: string) => `content-length: ${Buffer.byteLength(text)}`, (text: string) => text],
  [
    'in chunks',
    () => 'transfer-encoding: chunked',
    (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`,
  ],
] as const)
  t.test(`an upload ${how} that is cut off at any byte leaves no object, no row and no reservation`, async (t) => {
    const app = await installerApp(t, db, { settings: { uploadsPerUser: 2_000 } });
    const user = newUser();
    const whole = body();
    const request = head(user, lengthOf(whole)) + framed(whole);
    // Once its end was read, an upload may be accepted before anybody notices that the line end after it is missing.
    const end = request.indexOf(CLOSING) + CLOSING.length;
    let sent = 0;
    for (let at = 1; at < end; at += 16) {
      const cuts = Array.from({ length: Math.min(16, end - at) }, (_, n) => request.slice(0, at + n));
      await Promise.all(cuts.map((part) => sendAndHangUp(app, part)));
      sent += cuts.length;
    }
    t.equal(sent, end - 1);
    // What the server hears of the hanging up and does about it takes a few turns.
    let left = await remains(app, db, user);
    for (let turns = 0; turns < 5_000 && JSON.stringify(left) !== JSON.stringify(NOTHING); turns++) {
      await turn();
      left = await remains(app, db, user);
    }
    t.strictSame(left, NOTHING);
    t.match(await sendWhole(app, request), /^HTTP\/1\.1 202 /, 'whole, it is accepted');
    t.match(await remains(app, db, user), { uploads: 1, datasets: 1 });
  });
