// Downloads of one file from a server in a process of its own, on loopback, counted and thrown away.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';

/** By what serves: the product, or bare sockets. */
export type Served = 'ours' | 'tcp';

export class DownloadServer {
  readonly #ports: Readonly<Record<Served, number>>;

  private constructor(ports: Readonly<Record<Served, number>>) {
    this.#ports = ports;
  }

  /** Takes the file; the server ends with this process. */
  static async start(file: string): Promise<DownloadServer> {
    const child = fork(join(import.meta.dirname, 'download-server.ts'), [file], { execArgv: [] });
    const [ports] = await once(child, 'message', { signal: AbortSignal.timeout(30_000) });
    return new DownloadServer(ports as Readonly<Record<Served, number>>);
  }

  /** Bytes that came, those of an HTTP head included. */
  async download(by: Served): Promise<number> {
    const socket = connect(this.#ports[by], '127.0.0.1');
    if (by === 'ours') socket.write('GET /base/download HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      if (bytes === 0 && by === 'ours' && !chunk.toString('latin1', 0, 12).endsWith(' 200'))
        socket.destroy(new Error(chunk.toString('latin1', 0, 200)));
      bytes += chunk.length;
    });
    await once(socket, 'close');
    return bytes;
  }
}
