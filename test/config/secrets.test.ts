// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of the configuration look like that

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { loadConfiguration } from '../../config/load.ts';
import { printDocument } from '../../config/reference.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import type { SchemaNode } from '../../config/schema-node.ts';
import { expand, hideSecrets } from '../../config/secrets.ts';
import { compileCheck, formatFault } from '../../config/validate.ts';
import { changed, completeDocument, FIXTURES, SECRETS } from './complete-document.ts';

const dir = t.testdir();

const SCHEMA = {
  type: 'object',
  properties: {
    port: { type: 'integer' },
    on: { type: 'boolean' },
    text: { type: 'string' },
    either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    list: { type: 'array', items: { type: 'integer' } },
    open: { type: 'object', additionalProperties: true },
  },
} as SchemaNode;

async function expanded(document: unknown, env: Record<string, string> = {}): Promise<unknown> {
  const { document: result, findings } = await expand(document, SCHEMA, { env, dir });
  return findings.length > 0 ? findings.map(({ path, found }) => `${path.join('.')}: ${found}`) : result;
}
const $ = (body: string): string => `\${${body}}`;

t.test('a sole placeholder takes the type that its place wants', async (t) => {
  const env = { N: '8080', B: 'true', E: '' };
  t.strictSame(await expanded({ port: $('env:N'), on: $('env:B'), text: $('env:N'), either: $('env:N') }, env), {
    port: 8080,
    on: true,
    text: '8080',
    either: '8080',
  });
  t.strictSame(await expanded({ list: [$('env:N')], open: { a: $('env:N'), b: $('env:E') } }, env), {
    list: [8080],
    open: { a: 8080, b: null },
  });
  t.strictSame(await expanded({ port: `1${$('env:N')}`, text: `a ${$('env:N')} b ${$('env:B')}` }, env), {
    port: '18080',
    text: 'a 8080 b true',
  });
});

t.test('a default stands in for a variable that is unset or empty', async (t) => {
  t.strictSame(await expanded({ text: $('env:X:-a:-b'), port: $('env:X:-5'), on: $('env:E:-false') }, { E: '' }), {
    text: 'a:-b',
    port: 5,
    on: false,
  });
  t.strictSame(await expanded({ text: $('env:X:-') }), { text: '' });
  t.strictSame(await expanded({ text: $('env:E') }, { E: '' }), { text: '' });
});

t.test('expanded text is not expanded again', async (t) => {
  t.strictSame(await expanded({ text: $('env:X') }, { X: $('env:Y'), Y: 'no' }), { text: $('env:Y') });
});

t.test('a doubled dollar stands for the placeholder itself', async (t) => {
  t.strictSame(await expanded({ text: `$${$('env:X')} and $${$('file:/x')}` }), {
    text: `${$('env:X')} and ${$('file:/x')}`,
  });
});

t.test('other dollars are left alone', async (t) => {
  const text = 'a$b $(e) $$ ^x${2,3}$ ${';
  t.strictSame(await expanded({ text }), { text });
});

t.test('a name in braces without a source is a fault that says how to give a secret', async (t) => {
  t.strictSame(await expanded({ text: '${DB_PASSWORD}' }), [
    'text: ${DB_PASSWORD}, which does not say where the value comes from',
  ]);
  const { findings } = await expand({ text: '${DB_PASSWORD}' }, SCHEMA, { env: { DB_PASSWORD: 'set' }, dir });
  t.equal(
    findings[0]?.allowed,
    '${env:DB_PASSWORD} for an environment variable, ${file:PATH} for a file, $${DB_PASSWORD} for this text',
  );
  for (const text of ['my${hunter22}', '${hunter22}${x}', '${ env.X }', '${secrets.X}', '${X:-y}'])
    t.match(await expanded({ text }), [/^text: \$\{\.\.\}, which does not say/], text);
  t.strictSame(await expanded({ text: '$${DB_PASSWORD}' }), { text: '${DB_PASSWORD}' });
});

t.test('every text of the configuration refuses a name in braces, except what a shell reads', async (t) => {
  const document = { ...(await completeDocument('contract-form')), report: { queryJobs: { root: '/q' } } };
  // The schema refuses an unknown driver.
  const places = texts(document).filter((path) => !path.endsWith('.driver'));
  t.ok(places.length > 80, `${places.length} texts`);
  for (const path of places) {
    const { findings } = await expand(changed(document, path, '${NAME}'), ROOT_SCHEMA, { env: {}, dir });
    const isOpen = /^handler\.(vendor|commands\.\d+\.arguments)\.|\.metaValidation\./.test(path);
    t.same(
      findings.map((finding) => finding.path.join('.')),
      isOpen ? [] : [path],
      path,
    );
  }
});

function texts(value: unknown, path: readonly string[] = []): readonly string[] {
  if (typeof value === 'string') return [path.join('.')];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => texts(item, [...path, key]));
}

t.test('a file gives its text without the last newline', async (t) => {
  await writeFile(join(dir, 'secret'), 'two\nlines\n');
  await writeFile(join(dir, 'number'), '5432\r\n');
  t.strictSame(await expanded({ text: $('file:secret'), port: $(`file:${join(dir, 'number')}`) }), {
    text: 'two\nlines',
    port: 5432,
  });
});

t.test('what cannot be expanded is a fault that names the placeholder, never a default', async (t) => {
  await writeFile(join(dir, 'large'), 'x'.repeat(65_537));
  const faults: Record<string, string> = {
    [$('env:NOPE')]: 'text: ${env:NOPE}, and NOPE is not set',
    [$('env:A-B')]: 'text: the malformed placeholder ${env:..}',
    [$('env:A-B:-hunter22')]: 'text: the malformed placeholder ${env:..}',
    [$('env:')]: 'text: the malformed placeholder ${env:..}',
    [$('evn:hunter22')]: 'text: the malformed placeholder ${evn:..}',
    '${env:A': 'text: a placeholder without its closing }',
    [$('file:none')]: 'text: ${file:none}, which does not exist',
    [$('file:.')]: 'text: ${file:.}, which is a folder',
    [$('file:large')]: 'text: ${file:large}, a file of more than 65536 bytes',
  };
  for (const [text, fault] of Object.entries(faults)) t.strictSame(await expanded({ text }), [fault], text);
});

t.test('inherited names are no variables', async (t) => {
  t.strictSame(await expanded({ text: $('env:constructor') }, Object.assign(Object.create(null), {})), [
    'text: ${env:constructor}, and constructor is not set',
  ]);
});

t.test('every secret of the contract and of our additions is marked', async (t) => {
  const marked = new Set<string>();
  const visit = (node: SchemaNode, key: string): void => {
    if (node.writeOnly) marked.add(key);
    for (const branch of node.anyOf ?? []) visit(branch, key);
    for (const [name, child] of Object.entries(node.properties ?? {})) visit(child, name);
    if (node.items) visit(node.items, key);
    if (typeof node.additionalProperties === 'object') visit(node.additionalProperties, key);
  };
  visit(ROOT_SCHEMA, '');
  t.same([...marked].sort(), ['accessToken', 'adminToken', 'bindPassword', 'password', 'secretKey', 'token']);
});

t.test('no secret is printed', async (t) => {
  const result = await loadConfiguration(join(FIXTURES, 'contract-form.yaml'), { env: SECRETS });
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  const printed = printDocument({
    ...result.document,
    handler: { vendorToken: 'planted-vendor', nested: { apiKey: 'planted-api' } },
  });
  t.notMatch(printed, 'planted');
  t.equal(printed.match(/"\[hidden\]"/g)?.length, 12);
});

t.test('no fault shows a secret, whatever is wrong with it', async (t) => {
  const check = compileCheck(ROOT_SCHEMA);
  const document = await completeDocument('contract-form');
  const paths = [
    'containerCore.authentication.adminToken',
    'installer.cacheDb.password',
    'installer.objectStore.secretKey',
    'installer.objectStore.accessToken',
    'installer.installTargets.0.controlDb.password',
    'handler.token',
    'mail.password',
    'installer.queueBroker.global.connection.password',
  ];
  const wrong: readonly unknown[] = ['x7', 7_777_777, true, ['x7x7x7'], { x7x7: 'x7x7' }];
  for (const path of paths)
    for (const value of wrong) {
      const findings = check(changed(document, path, value), () => '7777777');
      // A map in place of a password may show its keys, never its values.
      t.notMatch(findings.map(({ found, allowed }) => found + allowed).join(), /x7x7x7|"x7|7777777|true$/, path);
    }
  for (const [path, value] of [
    ['installer.cacheDb', 'postgres://user:x7@host'],
    ['installer.cacheDb.server', 'user:x7@host:5432'],
    ['containerCore.authentication.oauth.jwksUrl', 'https://user:x7@host/'],
    ['installer.objectStore', ['x7']],
    ['installer.cacheDb.pasword', 'x7'],
  ] as const) {
    const findings = check(changed(document, path, value), () => undefined);
    t.equal(findings.length, 1, path);
    t.notMatch(findings.map(({ found }) => found).join(), 'x7', path);
  }
});

t.test('hiding leaves the document as it is', async (t) => {
  const document = await completeDocument('contract-form');
  const before = structuredClone(document);
  t.match(hideSecrets(ROOT_SCHEMA, document), { mail: { password: '[hidden]', from: 'longshore@example.org' } });
  t.strictSame(document, before);
});

t.test('what is printed loads again with the same meaning', async (t) => {
  const first = await loadConfiguration(join(FIXTURES, 'contract-form.yaml'), { env: SECRETS });
  if (!first.ok) throw new Error('the fixture has faults');
  const file = join(dir, 'printed.yaml');
  await writeFile(file, printDocument(first.document).replaceAll('"[hidden]"', 'h'.repeat(32)));
  const second = await loadConfiguration(file, { env: {} });
  if (!second.ok) throw new Error(second.faults.map(formatFault).join('\n'));
  const hidden = (configuration: unknown): unknown =>
    JSON.parse(
      JSON.stringify(configuration, (key, value) =>
        /password|token|secretKey/i.test(key) && typeof value === 'string' ? '' : value,
      ),
    );
  t.strictSame(hidden(second.configuration), hidden(first.configuration));
  t.match(second.warnings, [/holds secrets and can be read by every user/]);
});
