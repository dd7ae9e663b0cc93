// The life of the Debian package on this machine: installed, run as its unit says, upgraded, removed, purged.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { request } from 'undici';
import { testDatabase } from '../support/database.ts';
import { ROOT } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';
import { beside, links } from '../support/readmes.ts';
import { notifySocket } from './notify-socket.ts';

const UNIT = '/usr/lib/systemd/system/longshore.service';
const DOCUMENTS = '/usr/share/doc/longshore';
const CONFIG = '/etc/longshore/longshore.yaml';
/** For the unit's StateDirectory. Not below /var/lib/longshore, which is root's where `longshore up` ran as root. */
const STATE = '/var/lib/longshore-of-the-package-test';
/** As systemd makes it. */
const CACHE = '/var/cache/longshore';
const OWN = ['/etc/longshore', '/var/lib/longshore', CACHE];

const command = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** In all pages: `page: link`. */
async function deadLinks(): Promise<readonly string[]> {
  const pages = (await readdir(DOCUMENTS, { recursive: true })).filter((file) => file.endsWith('.md'));
  const texts = await Promise.all(pages.map((file) => readFile(join(DOCUMENTS, file), 'utf8')));
  return pages.flatMap((file, i) => {
    const targets = links({ file, text: texts[i] ?? '' }).filter((to) => !/^(https?:|mailto:|#)/.test(to));
    const isThere = (to: string) => existsSync(join(DOCUMENTS, beside(file, to.replace(/#.*/, ''))));
    return targets.filter((to) => !isThere(to)).map((to) => `${file}: ${to}`);
  });
}

/** What the formatter of manual pages complains about, over all pages of the package. */
function wrongInManual(): string {
  const pages = globSync('/usr/share/man/man1/longshore*.1.gz');
  if (pages.length < 20) throw new Error(`${pages.length} manual pages`);
  const env = { ...process.env, LC_ALL: 'C.UTF-8', MANWIDTH: '80' };
  return pages
    .map((page) => {
      const { status, stdout, stderr } = spawnSync('man', ['--warnings', '-E', 'UTF-8', '-l', page], {
        env,
        encoding: 'utf8',
      });
      const wide = stdout.split('\n').filter((line) => line.length > 80);
      return status === 0 && stderr === '' && wide.length === 0 ? '' : `${page}: ${status} ${stderr}${wide.join('\n')}`;
    })
    .join('');
}

async function setup(t: Test): Promise<string> {
  if (process.getuid?.() !== 0) throw new Error('only root can install a package: run this test as root');
  if (isInstalled()) throw new Error("a package 'longshore' is installed here; this test would remove it");
  if (existsSync('/etc/longshore')) throw new Error('/etc/longshore is somebody else’s; this test would purge it');
  const before = OWN.filter((path) => existsSync(path));
  const hadUser = userOf() !== undefined;
  const dir = await mkdtemp(join(tmpdir(), 'longshore-deb-'));
  await chmod(dir, 0o755);
  t.teardown(async () => {
    if (isKnown()) command('dpkg', '--purge', 'longshore');
    for (const path of [STATE, dir, ...OWN.filter((one) => !before.includes(one))])
      await rm(path, { recursive: true, force: true });
    if (!hadUser && userOf()) command('deluser', '--quiet', '--system', 'longshore');
  });
  return dir;
}

const statusOf = (): string => {
  try {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg's own placeholder
    return command('dpkg-query', '--show', '--showformat=${db:Status-Status} ${Version}', 'longshore');
  } catch {
    return 'unknown';
  }
};
const isInstalled = (): boolean => statusOf().startsWith('installed');
const isKnown = (): boolean => !/^(unknown|not-installed)/.test(statusOf());

function userOf(): { readonly uid: number; readonly gid: number } | undefined {
  try {
    const [, , uid, gid] = command('getent', 'passwd', 'longshore').split(':');
    return { uid: Number(uid), gid: Number(gid) };
  } catch {
    return undefined;
  }
}

function packageOf(dir: string, revision: string, ...options: readonly string[]): string {
  const program = join(ROOT, 'bin/build/deb.ts');
  const made = command(process.execPath, program, '--out', dir, '--revision', revision, ...options);
  return made.trim();
}

/** Runs what the unit runs, as it does; ready when systemd is told so. */
async function startUnit(t: Test, dir: string, env: Readonly<Record<string, string>>) {
  const user = userOf();
  const unit = await readFile(UNIT, 'utf8');
  const [program = '', ...args] = (/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '').split(' ');
  for (const path of [STATE, CACHE]) {
    await mkdir(path, { recursive: true });
    if (user) await chown(path, user.uid, user.gid);
  }
  const place = await mkdtemp(join(dir, 'notify-'));
  await chmod(place, 0o755);
  const socket = await notifySocket(t, place);
  const service = spawn(program, args, {
    cwd: STATE,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: CACHE, NOTIFY_SOCKET: socket.path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  });
  const ended = once(service, 'close');
  t.teardown(async () => {
    if (service.exitCode === null) service.kill('SIGKILL');
    await ended;
  });
  const said: string[] = [];
  for (const stream of [service.stdout, service.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => said.push(text));
  const early = ended.then(() => {
    throw new Error(`ended before it was ready:\n${said.join('')}`);
  });
  early.catch(() => undefined);
  await Promise.race([socket.ready, early]);
  return {
    async stop() {
      service.kill('SIGTERM');
      return ended;
    },
  };
}

/** Packing takes seconds, and minutes on a machine with other work. */
const LONG_MS = 480_000;
const packages = await mkdtemp(join(tmpdir(), 'longshore-packages-'));
t.teardown(() => rm(packages, { recursive: true, force: true }));
await chmod(packages, 0o755);
const first = packageOf(packages, '1');

t.test('lintian has nothing to say that is not overridden with a reason', { timeout: LONG_MS }, async (t) => {
  const options = ['--allow-root', '--display-info', '--fail-on', 'error,warning,info'];
  const { status, stdout } = spawnSync('lintian', [...options, first], { encoding: 'utf8' });
  t.strictSame([status, stdout], [0, '']);
  const overrides = await readFile(join(ROOT, 'config/deploy/debian/lintian-overrides'), 'utf8');
  for (const block of overrides.trim().split('\n\n')) t.match(block, /^# .{20}/, 'a reason');
});

// Ended before the runner ends this process, so that nothing stays on the machine.
t.test('the package is installed, run, upgraded, removed and purged', { timeout: LONG_MS }, async (t) => {
  const dir = await setup(t);
  // Compressing takes longest.
  const second = packageOf(dir, '2', '--uncompressed');
  const again = packageOf(await mkdtemp(join(dir, 'again-')), '2', '--uncompressed');
  t.ok((await readFile(again)).equals(await readFile(second)), 'the same executable gives the same package');

  command('dpkg', '--install', first);
  t.match(statusOf(), /^installed \d+\.\d+\.\d+-1$/);
  t.match(command('longshore', '--version'), /^\d+\.\d+\.\d+ \(commit /);
  const user = userOf();
  t.ok(user && user.uid < 1000, 'a system user of its own');
  const folder = await stat('/etc/longshore');
  t.strictSame([folder.mode & 0o777, folder.uid, folder.gid], [0o750, 0, user?.gid], 'secrets are not for all');
  t.equal(command('systemd-analyze', 'verify', UNIT), '', 'systemd takes the unit');
  command('systemd-analyze', 'security', '--offline=true', '--threshold=20', UNIT); // 2.0 of 10; fails above
  t.strictSame(await deadLinks(), [], 'whoever has no network reads the pages here');
  for (const file of ['copyright', 'licences.txt', 'longshore.cdx.json', 'UPGRADING.md', 'docs/commands.md'])
    t.ok(existsSync(join(DOCUMENTS, file)), file);
  t.equal(wrongInManual(), '', 'man formats every page, in 80 columns');
  t.match(command('man', '-f', 'longshore'), /^longshore \(1\) +- takes scientific datasets/m);
  const completed =
    'source /usr/share/bash-completion/completions/longshore; COMP_WORDS=(longshore datasets sh); COMP_CWORD=2';
  t.equal(command('bash', '-c', `${completed}; _longshore; echo "\${COMPREPLY[*]}"`), 'show share\n');
  command('zsh', '-n', '/usr/share/zsh/vendor-completions/_longshore');
  command('fish', '--no-execute', '/usr/share/fish/vendor_completions.d/longshore.fish');
  await rm('/etc/longshore', { recursive: true });
  for (const mode of [0o750, 0o755]) {
    command('systemd-tmpfiles', '--create', '/usr/lib/tmpfiles.d/longshore.conf');
    const made = await stat('/etc/longshore');
    t.strictSame(
      [made.mode & 0o777, made.uid, made.gid],
      [mode, 0, user?.gid],
      'a folder that is there stays as it is',
    );
    await chmod('/etc/longshore', 0o755);
  }
  t.equal(command('dpkg', '--verify', 'longshore'), '', 'no file is damaged');

  const db = await testDatabase(t);
  const env = {
    LONGSHORE_ADMIN_TOKEN: 'a'.repeat(64),
    LONGSHORE_ISSUER: 'tests',
    LONGSHORE_JWKS_URL: 'http://127.0.0.1:9/keys',
    LONGSHORE_PORT: String(await freePort()),
    LONGSHORE_STATE: STATE,
    DB_SERVER: `${db.host}:${db.port}`,
    DB_USER: db.user,
    DB_PASSWORD: db.password,
    DATA_DB_USER: db.user,
    DATA_DB_PASSWORD: db.password,
    CACHE_DB_NAME: db.database,
    SITE_DB_NAME: db.database,
  };
  await copyFile('/usr/share/doc/longshore/examples/one-machine.yaml', CONFIG);
  if (user) await chown(CONFIG, 0, user.gid);
  await chmod(CONFIG, 0o640);
  const options = { env: { ...process.env, ...env } };
  execFileSync('longshore', ['migrate', '--config', CONFIG], { ...options, stdio: 'ignore' });
  execFileSync('longshore', ['migrate-target', 'AlphaDB', '--config', CONFIG], { ...options, stdio: 'ignore' });
  // A connection of its own: the server has closed an idle one after this process was blocked by dpkg.
  const ready = async (): Promise<number> => {
    const url = `http://127.0.0.1:${env.LONGSHORE_PORT}/ready`;
    const { statusCode, body } = await request(url, { reset: true });
    await body.dump();
    return statusCode;
  };

  const service = await startUnit(t, dir, env);
  t.equal(await ready(), 200);
  t.equal((await stat(join(STATE, 'objects'))).uid, user?.uid, 'objects are its own');

  command('dpkg', '--install', second);
  t.match(statusOf(), /^installed \d+\.\d+\.\d+-2$/);
  t.equal(await ready(), 200, 'what ran goes on until it is restarted');
  t.strictSame(await service.stop(), [0, null]);
  const upgraded = await startUnit(t, dir, env);
  t.equal(await ready(), 200, 'with the same configuration and data');
  t.strictSame(await upgraded.stop(), [0, null]);

  command('dpkg', '--remove', 'longshore');
  t.strictSame([existsSync('/usr/bin/longshore'), existsSync(UNIT)], [false, false]);
  t.strictSame([existsSync(CONFIG), existsSync(join(STATE, 'objects'))], [true, true], 'what is the operator’s stays');
  // Only what a package of that name left is purged: its scripts.
  command('dpkg', '--purge', 'longshore');
  t.strictSame([existsSync('/etc/longshore'), existsSync(CACHE), existsSync(STATE)], [false, false, true]);
  t.notOk(isKnown());
});
