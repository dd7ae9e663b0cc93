// A program of its own that sends the same bytes over and over: download-server.ts FILE. Tells its parent two ports:
//   ours  GET /download by the product's server and the product's download, FILE being an object of a directory store
//   tcp   as many bytes, 256 KiB at a time from one buffer, to whoever connects: what the machine gives

import { mkdir, rename, stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DirectoryReader } from '../../engine/adapters/directory/directory-store-reader.ts';
import { sendObject } from '../../http/kernel/answers/download.ts';
import { httpApp, route } from '../http/http-app.ts';

const [file = ''] = process.argv.slice(2);
const WRITE_BYTES = 256 * 1024;
const KEY = '1/D/install-ready.zip';

async function ours(): Promise<number> {
  const dir = `${file}.store`;
  await mkdir(join(dir, 'objects', '1', 'D'), { recursive: true });
  await rename(file, join(dir, 'objects', KEY));
  const store = new DirectoryReader(join(dir, 'objects'));
  const options = { key: KEY, contentType: 'application/zip', fileName: 'D-data.zip', absent: 'there is none' };
  const download = route('/download', 'open', (context) => sendObject(context, store, options));
  const { port } = await httpApp({ teardown: () => undefined }, [download]);
  return port;
}

function tcp(bytes: number): Promise<number> {
  const block = Buffer.alloc(WRITE_BYTES, 'x');
  const server = createServer((socket) => {
    let left = bytes;
    const write = (): void => {
      while (left > 0) {
        const part = block.subarray(0, left);
        left -= part.length;
        if (!socket.write(part)) return;
      }
      socket.end();
    };
    socket.on('drain', write);
    write();
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

process.once('disconnect', () => process.exit(0));
const { size } = await stat(file);
process.send?.({ tcp: await tcp(size), ours: await ours() });
