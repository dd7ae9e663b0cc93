import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import t from 'tap';
import { PIECE_BYTES, sendBody } from '../../../../http/kernel/answers/send-body.ts';
import { SendRoom } from '../../../../http/kernel/answers/send-room.ts';
import { httpApp, route } from '../../http-app.ts';

const MIB = 1024 * 1024;
const KIB = 1024;

t.test('one download has whole pieces, and many together have little more than there is', async (t) => {
  const room = new SendRoom(16 * MIB);
  const taken = Array.from({ length: 1_000 }, () => room.take(PIECE_BYTES));
  t.strictSame(taken.slice(0, 20), Array<number>(20).fill(PIECE_BYTES));
  t.ok(taken.reduce((sum, bytes) => sum + bytes, 0) <= 16 * MIB + 1_000 * 8 * KIB);
  t.equal(taken.at(-1), 8 * KIB, 'each has something');
  for (const bytes of taken) room.giveBack(bytes);
  t.equal(room.take(PIECE_BYTES), PIECE_BYTES, 'and all of it comes back');
  t.equal(room.take(10), 10, 'nobody takes more than is asked for');
});

t.test('many slow clients at once get the whole of their downloads, and none is cut off', async (t) => {
  const CLIENTS = 60;
  const BYTES = 8 * MIB;
  let [memory, most] = [0, 0];
  const fill = async (target: Uint8Array, position: number): Promise<void> => {
    target.fill((position / BYTES) * 250);
  };
  const download = route('/file', 'open', async ({ response, signal }) => {
    response.setHeader('content-length', BYTES);
    const write = response.write.bind(response) as (piece: Buffer, done: () => void) => boolean;
    response.write = ((piece: Buffer, done: () => void) => {
      memory += piece.length;
      most = Math.max(most, memory);
      return write(piece, () => {
        memory -= piece.length;
        done();
      });
    }) as typeof response.write;
    await sendBody({ body: Readable.from([]), direct: { bytes: BYTES, fill } }, response, signal);
  });
  // What is kept for clients is looked at a hundred times a second.
  const limits = { maxUnsentSize: 4 * MIB, keepAliveTimeoutMs: 40 };
  const { port, metrics } = await httpApp(t, [download], { limits });
  const clients = Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1'));
  t.teardown(() => clients.map((socket) => socket.destroy()));
  for (const socket of clients) socket.write('GET /base/file HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  // Nobody reads before all answers have begun.
  await Promise.all(clients.map((socket) => once(socket, 'readable')));
  const got = await Promise.all(clients.map(bytesOf));
  t.ok(
    got.every((bytes) => bytes > BYTES && bytes < BYTES + KIB),
    'all of them, with the heads',
  );
  t.ok(most <= limits.maxUnsentSize, `at most ${most} bytes were written and not taken`);
  t.notMatch(await metrics.text(), /reason="unsent"[^}]*\} [1-9]/);
});

/** Up to the end of the connection, however it came. */
async function bytesOf(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on('data', (piece: Buffer) => {
    bytes += piece.length;
  });
  await new Promise((resolve) => socket.once('close', resolve).on('error', () => undefined));
  return bytes;
}
