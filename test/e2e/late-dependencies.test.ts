// `serve` on a database that is not there yet: the way to it is a relay that opens late, or never.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { testDatabase } from '../support/database.ts';
import { freePortBase, longshore, ROOT, tempDir } from '../support/longshore.ts';

/** As long as one has to be. */
const ADMIN = 'a'.repeat(40);
const ENTRY = join(ROOT, 'bin', 'longshore.ts');

interface Serving {
  /** The first line of the log with that message that was not asked for before. */
  logged(message: string): Promise<Record<string, unknown>>;
  stop(): void;
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
}

interface LateDatabase {
  readonly port: number;
  readonly file: string;
  /** From now on the database is there. */
  open(): Promise<void>;
  /** From now on it is away: it refuses connections, or nothing passes any more. */
  close(how: 'refuses' | 'hangs'): void;
}

async function setup(t: Test, startupWait: string): Promise<LateDatabase> {
  const dir = await tempDir(t);
  const db = await testDatabase(t);
  const port = await freePortBase();
  const access = { username: db.user, password: db.password };
  // Nobody is there: it is waited for by none and keeps nothing from starting.
  const site = { server: { host: '127.0.0.1', port: port + 3 }, name: 'site', platform: 'Postgres', ...access };
  const file = join(dir, 'longshore.yaml');
  const configuration = {
    containerCore: { ports: { installer: port + 1 }, startupWait, authentication: { adminToken: ADMIN } },
    installer: {
      cacheDb: { server: { host: '127.0.0.1', port }, name: db.database, ...access },
      objectStore: { driver: 'directory', path: 'store' },
      logBroker: { driver: 'postgres' },
      queueBroker: { driver: 'postgres' },
      siteBuild: 'build-1',
      plugins: {
        genes: {
          server: { host: '127.0.0.1', port: port + 2 },
          dataTypes: [{ name: 'genelist', version: '1.0', category: 'Gene List' }],
        },
      },
      installTargets: [
        { targetId: 'SiteA', controlDb: { ...site, schema: 'control' }, dataDb: { ...site, schema: 'rows' } },
      ],
    },
  };
  await writeFile(file, stringify(configuration), { mode: 0o600 });
  const sockets = new Set<Socket>();
  let isHung = false;
  const relay = createServer((socket) => {
    if (isHung) socket.pause();
    const onward = connect(db.port, db.host);
    const end = (): void => {
      socket.destroy();
      onward.destroy();
    };
    for (const one of [socket, onward]) {
      sockets.add(one);
      one.on('error', () => undefined).on('close', end);
    }
    if (!isHung) socket.pipe(onward).pipe(socket);
  });
  t.teardown(() => {
    relay.close();
    for (const socket of sockets) socket.destroy();
  });
  const close = (how: 'refuses' | 'hangs'): void => {
    isHung = how === 'hangs';
    if (!isHung) relay.close();
    for (const socket of sockets) {
      if (isHung) socket.unpipe().pause();
      else socket.destroy();
    }
  };
  const open = async (): Promise<void> => {
    isHung = false;
    for (const socket of sockets) socket.destroy();
    if (relay.listening) return;
    relay.listen(port, '127.0.0.1');
    await once(relay, 'listening');
  };
  return { port, file, open, close };
}

function serve(t: Test, file: string): Serving {
  const child = spawn(process.execPath, [ENTRY, 'serve', '--config', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close') as Promise<[number | null]>;
  t.teardown(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const passed: Record<string, unknown>[] = [];
  return {
    async logged(message) {
      const earlier = passed.findIndex((line) => line.msg === message);
      const [found] = earlier < 0 ? [] : passed.splice(earlier, 1);
      if (found) return found;
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`it ended without '${message}': ${stderr}`);
        const line = JSON.parse(value) as Record<string, unknown>;
        if (line.msg === message) return line;
        passed.push(line);
      }
    },
    stop: () => void child.kill('SIGTERM'),
    ended: closed.then(([code]) => ({ code, stderr })),
  };
}

t.test('serve waits for its database, says so, and starts once it is there', async (t) => {
  const { port, file, open } = await setup(t, '60s');
  const serving = serve(t, file);
  t.match(await serving.logged('a dependency is unavailable; waiting'), {
    dependency: 'cache database',
    reason: new RegExp(`at 127.0.0.1:${port}: connect ECONNREFUSED`),
  });
  await open();
  t.match(await serving.logged('a dependency is available now'), { dependency: 'cache database' });
  await serving.logged('ready');
  const gone = 'a dependency is unavailable; the service is degraded until it is back';
  const away = [await serving.logged(gone), await serving.logged(gone)];
  t.same(away.map(({ dependency }) => dependency).sort(), ['plugin genes', 'target SiteA']);
  serving.stop();
  t.match(await serving.ended, { code: 0 });
});

t.test('a start ends after startupWait with exit code 4 and names what was missing', async (t) => {
  const { port, file } = await setup(t, '500ms');
  const { code, stderr } = await serve(t, file).ended;
  t.equal(code, 4);
  const said = `^longshore serve: waited 0\\.5 s without success for: cache database \\(database t_\\w+ at 127\\.0\\.0\\.1:${port}: connect ECONNREFUSED`;
  t.match(stderr, new RegExp(said, 'm'));
});

t.test('SIGTERM ends the wait at once', async (t) => {
  const { file } = await setup(t, '1h');
  const serving = serve(t, file);
  await serving.logged('a dependency is unavailable; waiting');
  serving.stop();
  t.match(await serving.ended, { code: 0 });
});

t.test('while the database is away, /ready and the commands say so, and all works again when it is back', async (t) => {
  const { port, file, open, close } = await setup(t, '60s');
  await open();
  await serve(t, file).logged('ready');
  const server = `http://127.0.0.1:${port + 1}`;
  const ready = async () => {
    const response = await fetch(`${server}/ready`);
    return { status: response.status, body: await response.json() };
  };
  /** How long it takes until /ready has this status. */
  const until = async (status: number): Promise<number> => {
    const begun = performance.now();
    while ((await ready()).status !== status);
    return performance.now() - begun;
  };
  const jobs = () => longshore(['jobs', '--server', server, '--admin-token', ADMIN]);
  t.match(await jobs(), { code: 0 });
  for (const how of ['refuses', 'hangs'] as const) {
    t.strictSame(await ready(), { status: 200, body: { ready: true } });
    close(how);
    // Two seconds on a machine with nothing else to do; readiness.test.ts has the exact bound.
    t.ok((await until(503)) < 6_000, how);
    t.strictSame(await ready(), {
      status: 503,
      body: { ready: false, reason: 'a database of the service cannot be reached' },
    });
    if (how === 'refuses') {
      const { code, stderr } = await jobs();
      t.equal(code, 4, stderr);
      t.match(stderr, /503: a database of the service cannot be reached/);
    }
    await open();
    t.ok((await until(200)) < 6_000, how);
  }
});
