import { join } from 'node:path';
import t from 'tap';
import { resolveForms } from '../../config/forms.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import type { SchemaNode } from '../../config/schema-node.ts';

const DIR = '/etc/site';
const FORMS_OF_PATHS = ['path', 'file', 'uri-path', 'search-path', 'program'];

/** Keys that look like paths of files but are none. */
const OTHER: Record<string, string> = {
  'containerCore.http.basePath': 'a part of URLs',
  'containerCore.http.basePath.*': 'a part of URLs',
  'containerCore.console.accessUrl': 'a URL',
  'access.registrationPath': 'a part of URLs',
  'access.applicationPath': 'a part of URLs',
  'installer.siteBuild': 'a name below the install root',
  'installer.installTargets[].datasetFileRoot': 'below the install root',
  'installer.ldap.servers': 'servers of an LDAP directory',
  'installer.ldap.baseDn': 'a name in an LDAP directory',
  'installer.ldap.bindDn': 'a name in an LDAP directory',
  'installer.ldap.bindPassword': 'a password of an LDAP directory',
  'installer.installTargets[].controlDb.lookupCn': 'a name in an LDAP directory',
  'installer.installTargets[].dataDb.lookupCn': 'a name in an LDAP directory',
  'handler.configPath': 'reported as it is written, never opened',
};

interface Key {
  readonly path: string;
  readonly name: string;
  readonly node: SchemaNode;
}

function keys(node: SchemaNode, path = '', name = ''): readonly Key[] {
  const { properties = {}, additionalProperties, items, anyOf = [] } = node;
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
  return [
    { path, name, node },
    ...Object.entries(properties).flatMap(([key, child]) => keys(child, below(key), key)),
    ...(typeof additionalProperties === 'object' ? keys(additionalProperties, below('*'), '*') : []),
    ...(items ? keys(items, `${path}[]`, name) : []),
    ...anyOf.flatMap((branch) => keys(branch, path, name)),
  ];
}
const TEXTS = keys(ROOT_SCHEMA).filter(({ node }) => [node.type].flat().includes('string') && !node.enum);

t.test('every key that names a file or a folder has the form of a path', async (t) => {
  const words = /\b(?:path|paths|directory|directories|folder|folders|PEM file|executable)\b/i;
  const names = /(?:path|root|file|dir|folder|workspace|override)$/i;
  const found = TEXTS.filter(
    ({ path, name, node }) =>
      (names.test(name) || words.test(node.description ?? '')) &&
      !Object.keys(OTHER).some(
        (other) => path === other || (other.endsWith('.*') && path.startsWith(other.slice(0, -1))),
      ),
  );
  t.ok(found.length >= 20, found.map(({ path }) => path).join(' '));
  for (const { path, node } of found) t.ok(FORMS_OF_PATHS.includes(node['x-form'] ?? ''), path);
});

t.test('a relative path of every key starts at the folder of the configuration file', async (t) => {
  const paths = TEXTS.filter(({ node }) => FORMS_OF_PATHS.includes(node['x-form'] ?? ''));
  t.ok(paths.length >= 20, paths.map(({ path }) => path).join(' '));
  for (const { path, node } of paths) {
    const resolved = (value: string) => resolveForms(node, value, DIR);
    for (const [value, place] of [
      ['./a', 'a'],
      ['a/b', 'a/b'],
      ['../a', '../a'],
    ] as const)
      t.equal(resolved(value), join(DIR, place), `${path}: ${value}`);
    t.equal(resolved('/abs/a'), '/abs/a', `${path}: absolute`);
    // A program without a slash is looked up on PATH.
    t.equal(resolved('bare'), node['x-form'] === 'program' ? 'bare' : join(DIR, 'bare'), `${path}: bare`);
  }
});

t.test('each directory of a search path starts there', async (t) => {
  const node: SchemaNode = { type: 'string', 'x-form': 'search-path' };
  t.equal(resolveForms(node, 'a:/b:./c', DIR), '/etc/site/a:/b:/etc/site/c');
});
