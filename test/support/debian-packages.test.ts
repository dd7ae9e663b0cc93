import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';

/** In a process that may not install anything. */
function install(packages: Readonly<Record<string, string>>) {
  const program = `
    if (process.getuid() === 0) process.getuid = () => 65534;
    const { installMissing } = await import(${JSON.stringify(join(import.meta.dirname, 'debian-packages.ts'))});
    installMissing(${JSON.stringify(packages)});`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  return { status, stderr };
}

t.test('what is there is not asked for', async (t) => {
  t.same(install({ [process.execPath]: 'node' }), { status: 0, stderr: '' });
});

t.test('packages that only root can install are named, with the command for root', async (t) => {
  const { status, stderr } = install({ '/no/such': 'b', '/no/other': 'a', '/no/third': 'b', '/proc/self': 'c' });
  t.equal(status, 1);
  const [missing, toHave] = stderr.split('\n');
  t.equal(missing, "missing: b a, from Debian's archive by apt-get, as root");
  t.match(
    toHave,
    /^ {2}to have it: (as root: apt-get install --no-install-recommends b a|.*: \/no\/such \/no\/other \/no\/third)$/,
  );
});
