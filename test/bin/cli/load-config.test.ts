import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { ConfigurationError } from '../../../bin/cli/command.ts';
import { loadConfig } from '../../../bin/cli/load-config.ts';
import { ROOT_SCHEMA } from '../../../config/schema/root.ts';
import type { SchemaNode } from '../../../config/schema-node.ts';
import { changed, FIXTURES } from '../../config/complete-document.ts';

const dir = t.testdir();
const file = join(dir, 'config.yaml');
await cp(FIXTURES, dir, { recursive: true });
await writeFile(join(dir, 'token-key.pub.pem'), 'a key');
const base = parse(await readFile(join(dir, 'embedded-form.yaml'), 'utf8'));
base.mail = { server: 'smtp', from: 'a@b.example' };
base.access = { siteUrl: 'https://a.example', supportEmail: 'a@b.example' };
base.installer.ldap = { servers: 'a', baseDn: 'dc=a' };

async function load(path: string, value: unknown, options = {}): Promise<string> {
  await writeFile(file, stringify(changed(base, path, value)));
  await chmod(file, 0o600);
  try {
    await loadConfig(file, { env: {}, err: () => undefined }, options);
    return 'loaded';
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.message.replace(/^\S+:\d+:\d+: /, '');
  }
}

t.test('a file that is not there is told with its key and its place, whichever key names it', async (t) => {
  const keys = fileKeys(ROOT_SCHEMA).filter((key) => !key.includes('privateKeyFile') && !/^report|kafka/.test(key));
  t.ok(keys.length >= 8, keys.join());
  for (const key of keys) {
    const section = key.split('.').slice(0, -1).join('.');
    const own = key.endsWith('caFile') ? { caFile: 'none.pem' } : { certFile: 'none.pem', keyFile: 'none.pem' };
    const told = key.endsWith('publicKeyFile') ? await load(key, 'none.pem') : await load(section, own);
    t.match(
      told,
      `${display(key)}: found "none.pem" (${join(dir, 'none.pem')}), which does not exist; allowed: a readable file`,
      key,
    );
  }
});

t.test('a folder in the place of a file is told', async (t) => {
  await mkdir(join(dir, 'folder'));
  t.match(await load('installer.ldap.tlsOptions', { caFile: 'folder' }), /"folder" \(\S+\), which is a folder/);
});

t.test('a command that may run elsewhere does not look for the files', async (t) => {
  await rm(join(dir, 'token-key.pub.pem'));
  t.equal(await load('installer.ldap.tls', false, { namedFiles: false }), 'loaded');
});

const display = (key: string): string => key.replaceAll(/\.0(?=\.)/g, '[0]');

/** Dotted paths of all keys of the form `file` in sections of the test's document. */
function fileKeys(node: SchemaNode, path: readonly string[] = []): readonly string[] {
  if (node['x-form'] === 'file') return [path.join('.')];
  const below: (readonly [string, SchemaNode])[] = Object.entries(node.properties ?? {}) as never;
  if (node.items) below.push(['0', node.items]);
  const own = below.flatMap(([key, child]) => fileKeys(child, [...path, key]));
  // The drivers of the test's document.
  const branch = node.anyOf?.find(({ properties }) =>
    ['directory', 'postgres'].includes(String(properties?.driver?.const)),
  );
  return branch ? [...own, ...fileKeys(branch, path)] : own;
}
