// `longshore up` of the executable, with Debian's PostgreSQL and nothing else.

import { once } from 'node:events';
import { globSync } from 'node:fs';
import { chmod, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { fetch } from 'undici';
import { type Endpoints, freePortBase, processesBelow, tempDir, up } from '../support/longshore.ts';
import { type PlainUser, plainUser } from './plain-user.ts';

/** Resolves at the line of standard error that matches. */
async function started(user: PlainUser, args: readonly string[], env: Readonly<Record<string, string>>, last: RegExp) {
  const child = user.start(args, env);
  const ended = once(child, 'close') as Promise<[number | null, string | null]>;
  const out: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => out.push(text));
  const heard: string[] = [];
  const reached = Promise.withResolvers<void>();
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (line) => {
      heard.push(line);
      if (last.test(line)) reached.resolve();
    });
  void ended.then(() => reached.reject(new Error(`ended early:\n${heard.join('\n')}`)));
  await reached.promise;
  return { child, ended, out: () => out.join('') };
}

t.test('up installs the demo dataset, with threads, PostgreSQL from the path, and ends on SIGTERM', async (t) => {
  const user = await plainUser(t);
  const base = String(await freePortBase());
  const [postgres] = globSync('/usr/lib/postgresql/*/bin/postgres');
  if (postgres === undefined) throw new Error("Debian's package postgresql is missing");
  const args = ['up', '--data', 'data', '--port-base', base];
  const first = await started(user, [...args, '--demo'], { PATH: dirname(postgres) }, /^press Ctrl-C to stop$/);
  t.match(first.out(), /^dataset \S+: accepted after \d+ ms, installed \d+ ms later$/m);
  t.match(first.out(), /^AlphaDB: files .*, 5000 rows in alphadb_data\.genelist$/m);

  const file = await readFile(join(user.dir, 'data', 'endpoints.json'), 'utf8');
  const { installer, pluginHost } = JSON.parse(file) as Endpoints;
  const metrics = (await (await fetch(`${installer}/metrics`)).text()).split('\n');
  const shared = metrics.filter((line) => line.startsWith('longshore_worker_threads{kind="shared"}'));
  t.match(shared, [/ [1-9]\d*$/], 'the jobs ran in threads');
  const deaths = metrics.filter((line) => line.startsWith('longshore_worker_thread_deaths_total{'));
  t.strictSame(deaths, [], 'none of which died');
  for (const server of [installer, pluginHost]) {
    const page = await fetch(`${server}/api`, { headers: { accept: 'text/html' } });
    t.strictSame([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8'], 'documented');
  }
  const script = /src="(\/console\/files\/[^"]+)"/.exec(await (await fetch(installer)).text())?.[1];
  const { status, headers } = await fetch(`${installer}${script}`);
  t.strictSame([status, headers.get('content-type')], [200, 'text/javascript; charset=utf-8'], 'with the console');
  t.equal(await realpath(`/proc/${first.child.pid}/exe`), join(dirname(user.dir), 'longshore'), 'by itself');

  first.child.kill('SIGTERM');
  t.strictSame(await first.ended, [0, null]);
  t.strictSame(processesBelow(user.dir), []);

  const again = await started(user, args, {}, /^ready\b/);
  const list = await user.run(['datasets', 'list', '--data', 'data', '--user', '1', '--json']);
  t.match(list.stdout, 'genelist', 'found where Debian puts it, without a path; what was installed is still there');
  again.child.kill('SIGTERM');
  t.strictSame(await again.ended, [0, null]);
});

t.test('an older PostgreSQL serves a directory below one that its own user may not enter', async (t) => {
  const [postgres] = globSync('/usr/lib/postgresql/*/bin/postgres');
  if (postgres === undefined) throw new Error("Debian's package postgresql is missing");
  const dir = await tempDir(t);
  await chmod(dir, 0o700);
  const app = await up(t, join(dir, 'data'), ['--postgres-bin', dirname(postgres)]);
  t.equal((await fetch(`${app.endpoints.installer}/health`)).status, 200);
});
