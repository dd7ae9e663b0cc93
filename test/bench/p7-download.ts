// P7: download of a stored zip, of 1 GiB and of 2,000 small files, from the directory store; beside nginx, which has the
// kernel send the same file.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../support/ports.ts';
import { archiveThreads } from './archive-threads.ts';
import { makeTree } from './archive-tree.ts';
import { openedOnce } from './opened-once.ts';
import { Program } from './program.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { emptyDir } from './started-up.ts';

const MIB = 1024 ** 2;
/** In files of 4 MiB; of a short run, `--datasets` are MiB. */
const BIG_MIB = DATASETS ?? 1_024;
/** Downloads of the small one in a round. */
const SMALL_TIMES = 20;

interface Site extends AsyncDisposable {
  /** MB a second. */
  rate(by: 'ours' | 'nginx', name: 'big' | 'small', times: number): Promise<number>;
}

const sites = openedOnce(open);
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  row('P7a', `a stored zip of ${BIG_MIB} MiB`, 'big', 1),
  row('P7b', 'a stored zip of 2,000 files of 4 KiB', 'small', SMALL_TIMES),
];

function row(id: string, what: string, name: 'big' | 'small', times: number): BenchRow {
  return {
    ...{ id, title: `download of ${what} from the directory store`, unit: 'MB/s', better: 'higher' },
    sides: { nginx: { is: 'peer', what: 'nginx, sendfile of a ready file' } },
    bars: [{ over: 'nginx', atLeast: 0.7 }],
    async measure(rounds) {
      const site = await sites.get();
      const measured: Round[] = [];
      for (let n = -1; n < rounds; n++) {
        const round = { ours: await site.rate('ours', name, times), nginx: await site.rate('nginx', name, times) };
        if (n >= 0) measured.push(round);
      }
      return measured;
    },
  };
}

async function open(): Promise<Site> {
  const dir = await emptyDir();
  const folder = join(dir.path, 'objects');
  const sizes: Record<string, number> = {};
  await using threads = await archiveThreads();
  for (const [name, files, bytes] of [['big', BIG_MIB / 4, 4 * MIB] as const, ['small', 2_000, 4_096] as const]) {
    const tree = await makeTree(join(dir.path, name), files, bytes);
    await mkdir(join(folder, '1', name), { recursive: true });
    const target = join(folder, '1', name, 'install-ready.zip');
    sizes[name] = (await threads.archives.zip(target, tree.files, { level: 0 }, new AbortController().signal)).bytes;
  }
  const ours = await Program.start('download-server.ts', 'ours', folder);
  const port = await freePort();
  const nginx = await startNginx(dir.path, port);
  const at = {
    ours: { port: ours.port, path: (name: string) => `/base/${name}` },
    nginx: { port, path: (name: string) => `/1/${name}/install-ready.zip` },
  };
  return {
    async rate(by, name, times) {
      const begun = performance.now();
      let bytes = 0;
      for (let n = 0; n < times; n++) bytes += await download(at[by].port, at[by].path(name));
      if (bytes < (sizes[name] ?? 0) * times) throw new Error(`${bytes} bytes came from ${by}`);
      return bytes / 1e3 / (performance.now() - begun);
    },
    async [Symbol.asyncDispose]() {
      await ours[Symbol.asyncDispose]();
      const ended = once(nginx, 'exit');
      nginx.kill('SIGTERM');
      await ended;
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function startNginx(dir: string, port: number) {
  const conf = join(dir, 'nginx.conf');
  await writeFile(
    conf,
    `daemon off; pid ${dir}/nginx.pid; worker_processes auto; error_log stderr;${process.getuid?.() === 0 ? ' user root;' : ''}
events {}
http { access_log off; sendfile on; tcp_nopush on; server { listen 127.0.0.1:${port}; root ${dir}/objects; } }\n`,
  );
  const child = spawn('nginx', ['-p', dir, '-c', conf, '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'inherit'] });
  for (let attempts = 0; ; attempts++) {
    const socket = connect(port, '127.0.0.1');
    const up = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (up) return child;
    if (attempts > 300 || child.exitCode !== null) throw new Error('nginx does not listen');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Bytes that came, those of the head included. */
async function download(port: number, path: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    if (bytes === 0 && !chunk.toString('latin1', 0, 12).endsWith(' 200'))
      socket.destroy(new Error(chunk.toString('latin1', 0, 200)));
    bytes += chunk.length;
  });
  await once(socket, 'close');
  return bytes;
}
