// The command line as scripts meet it: JSON of every command, exit codes, what to do next.

import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { EXIT } from '../../bin/cli/command.ts';
import { allCommands } from '../../bin/cli/command-table.ts';
import { geneList } from '../fixtures/datasets.ts';
import { freePortBase, longshore, ROOT, tempDir, up } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';

const dir = await tempDir(t);
const other = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const genes = join(dir, 'genes.txt');
await writeFile(genes, geneList(20));
const details = ['--type', 'genelist@1.0', '--target', 'AlphaDB', '--name', 'Genes', '--summary', 'Of interest'];
const config = join(dir, 'config.yaml');

/** They run until they are stopped, or print what is no data. */
const WITHOUT_JSON = ['up', 'serve', 'plugin', 'config reference', 'help', 'completion'];
/** Needs BLAST+, which is in the stack's tests: test/stack/query-run.test.ts. */
const ELSEWHERE = ['query run'];

t.test('every command that answers prints JSON, one document or one per line, and nothing else', async (t) => {
  const data = ['--data', dir];
  const uploaded = await longshore(['upload', genes, ...details, ...data, '--json', '--watch']);
  t.equal(uploaded.code, 0, uploaded.stderr);
  const { datasetId: id } = JSON.parse(uploaded.stdout.split('\n')[0] ?? '') as { datasetId: string };
  const revision = ['--note', 'Better genes than before', '--details', join(dir, 'changes.json')];
  await writeFile(join(dir, 'changes.json'), '{"name":{"value":"Better genes"}}');
  const calls: Readonly<Record<string, readonly (readonly string[])[]>> = {
    migrate: [['--config', config]],
    'migrate-target': [['AlphaDB', '--config', config]],
    token: [['--user', '7', ...data]],
    upload: [[genes, ...details, ...data]],
    watch: [[id, ...data]],
    'datasets list': [data],
    'datasets show': [[id, ...data]],
    'datasets download': [[id, '--out', join(dir, 'upload.zip'), ...data]],
    'datasets share': [[id, '--with', '7', ...data]],
    'datasets retry': [[id, ...data]],
    'datasets revise': [[id, genes, ...revision, '--watch', ...data]],
    'datasets delete': [[`${id}_1`, ...data]],
    'datasets undelete': [[`${id}_1`, ...data]],
    jobs: [data],
    top: [['--once', '--interval', '0.1', ...data]],
    problems: [data, ['--causes', ...data]],
    retry: [
      ['1', ...data],
      ['--lane', 'import', '--dry-run', ...data],
    ],
    discard: [['--lane', 'import', '--reason', 'of no use', '--dry-run', ...data]],
    cancel: [['1', ...data]],
    history: [[id, ...data]],
    'pause lane': [['sharing', '--for', '1h', ...data]],
    'pause plugin': [['genelist', '--for', '1h', ...data]],
    'pause target': [['AlphaDB', '--for', '1h', ...data]],
    'pause list': [data],
    'resume lane': [['sharing', ...data]],
    'resume plugin': [['genelist', ...data]],
    'resume target': [['AlphaDB', ...data]],
    reconcile: [data, ['--wait', ...data]],
    prune: [['--wait', ...data]],
    reload: [data],
    'log-level': [data, ['info', ...data]],
    'audit export': [data],
    backup: [
      [join(other, 'backup.tar'), ...data],
      ['--verify', join(other, 'backup.tar')],
    ],
    restore: [[join(other, 'backup.tar'), '--data', join(other, 'data')]],
    'support-bundle': [[join(other, 'bundle.tar.gz'), ...data]],
    'access import': [[join(ROOT, 'config', 'samples', 'access-studies.yaml'), ...data]],
    'access mail': [data],
    'access retry-mails': [data],
    doctor: [['--config', config]],
    'config init': [[join(dir, 'init.yaml'), '--db', '127.0.0.1:5432']],
    'config check': [[config]],
    'config print': [[config]],
    'config schema': [[]],
    version: [[]],
  };
  t.strictSame(
    Object.keys(calls).concat(WITHOUT_JSON, ELSEWHERE).sort(),
    allCommands()
      .map(({ name }) => name)
      .sort(),
  );
  for (const [name, argLists] of Object.entries(calls)) {
    for (const args of argLists) {
      const { code, stdout, stderr } = await longshore([...name.split(' '), ...args, '--json']);
      const at = `${name} ${args[0]}`;
      // There is nothing that failed to retry and no running job to cancel, and a run of the reconciler may be under way.
      const refused =
        ['datasets retry', 'retry', 'cancel', 'reconcile'].includes(name) &&
        code === EXIT.failed &&
        stdout === '' &&
        /: 40[49]: /.test(stderr);
      t.ok(code === EXIT.ok || refused, `${at}: ${code} ${stderr}`);
      if (!refused) t.doesNotThrow(() => documentsOf(stdout), `${at}: ${stdout}`);
    }
  }
  for (const { name, spec } of allCommands()) t.equal('json' in spec.options, !WITHOUT_JSON.includes(name), name);
});

/** One document, or one per line; throws when it is neither. */
function documentsOf(text: string): readonly unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  }
}

const nowhere = `http://127.0.0.1:${await freePort()}`;
const TOKEN = ['--token', 'x'];
/** By exit code: a call that ends so, and what it says last. */
const CODES: Readonly<Record<number, { readonly args: readonly string[]; readonly says: RegExp }>> = {
  0: { args: ['datasets', 'list', '--data', dir], says: /^$/ },
  1: {
    args: ['datasets', 'list', '--server', app.endpoints.installer, ...TOKEN],
    says: /^longshore datasets list: 401: .*\nnext: use --token T or the variable LONGSHORE_TOKEN, or --data DIR .*\n$/,
  },
  2: {
    args: ['datasets', 'list', '--jsno'],
    says: /^longshore datasets list: unknown option '--jsno'; did you mean '--json'\?\nusage: longshore datasets list .*\n'longshore datasets list --help' shows its options and examples\n$/,
  },
  3: {
    args: ['serve', '--config', join(dir, 'missing.yaml')],
    says: /^longshore serve: .*missing\.yaml.*\nnext: fix the file; 'longshore config check FILE' checks it again, .*\n$/,
  },
  4: {
    args: ['datasets', 'list', '--server', nowhere, ...TOKEN],
    says: /^longshore datasets list: http:.* ECONNREFUSED .*\nnext: is it running, and is that its address\? 'longshore up' .*\n$/,
  },
};

t.test('docs/operate.md has every exit code, and each is met', async (t) => {
  const page = await readFile(join(ROOT, 'docs', 'operate.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (\d+) \| .* \|$/gm)].map(([, code]) => Number(code));
  const { refusedData: _, later: __, ...codes } = EXIT;
  t.strictSame(rows, Object.values(codes));
  for (const [code, { args, says }] of Object.entries(CODES)) {
    await t.test(`exit code ${code}`, async (t) => {
      const ended = await longshore(args);
      t.equal(ended.code, Number(code), ended.stderr);
      t.match(ended.stderr, says);
    });
  }
});

t.test('a server that cannot answer at the moment is unreachable', async (t) => {
  const outage = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json' }).end('{"message":"the cache database is away"}');
  }).listen(0, '127.0.0.1');
  await once(outage, 'listening');
  t.teardown(() => outage.close());
  const server = `http://127.0.0.1:${(outage.address() as AddressInfo).port}`;
  const expected = {
    code: EXIT.unreachable,
    stdout: '',
    stderr: /: 503: the cache database is away\nnext: retry later; 'longshore top' shows what is missing\n$/,
  };
  t.match(await longshore(['datasets', 'list', '--server', server, ...TOKEN]), expected);
  t.match(await longshore(['jobs', '--server', server, '--admin-token', 'x']), expected);
});

t.test('what to do next is said to users and administrators alike', async (t) => {
  const { installer } = app.endpoints;
  const next = async (...args: string[]) => /^next: (.*)$/m.exec((await longshore(args)).stderr)?.[1];
  t.match(await next('jobs', '--server', installer, '--admin-token', 'wrong'), /^use --admin-token T or the variable/);
  t.match(await next('watch', 'AbCdEfGhIjKlMnOp', '--data', dir), /^'longshore datasets list' lists the datasets/);
  t.match(await next('jobs', '--data', join(dir, 'none')), /^is it running, and is that its address\?/);
  const unknown = await longshore(['uplaod']);
  t.strictSame([unknown.code, unknown.stdout], [EXIT.usage, '']);
  t.match(unknown.stderr, /^longshore: unknown command 'uplaod'; did you mean 'upload'\?; expected one of: up, /);
});

t.test('nothing is drawn where there is no terminal, and --quiet says nothing at all', async (t) => {
  const plain = await longshore(['upload', genes, ...details, '--data', dir, '--watch']);
  t.match(plain, { code: 0, stdout: /^\w{16}\n$/, stderr: /^\d\/4 .*\n(\d\/4 .*\n)*4\/4 install .*\n$/ });
  const quiet = await longshore(['upload', genes, ...details, '--data', dir, '--watch', '--quiet']);
  t.match(quiet, { code: 0, stdout: /^\w{16}\n$/, stderr: '' });
  t.equal(quiet.stderr, '');
});

t.test('help tells of a command without running it', async (t) => {
  t.match(await longshore(['--help']), {
    code: 0,
    stdout: /^usage: longshore COMMAND .*\n\nServers:\n {2}up +start everything/,
  });
  t.match(await longshore(['datasets', 'delete', '--help']), {
    code: 0,
    stdout: /^usage: longshore datasets delete ID/,
  });
  t.match(await longshore(['help', 'datasets', 'delete']), { code: 0, stdout: /^usage: longshore datasets delete ID/ });
  t.match(await longshore(['datasets', '--help']), { code: 0, stdout: /^ {2}undelete +restore a deleted dataset$/m });
  t.match(await longshore(['datasets']), { code: EXIT.usage, stderr: /^longshore datasets: a command is required; / });
  t.match(await longshore(['datasets', 'shwo']), {
    code: EXIT.usage,
    stderr: /unknown command 'shwo'; did you mean 'show'/,
  });
  t.match(await longshore(['help', 'nonsense']), { code: EXIT.usage, stderr: /there is no command 'nonsense'/ });
});

t.test('the version is printed however it is asked for', async (t) => {
  for (const word of ['version', '--version', '-v'])
    t.match(await longshore([word]), { code: 0, stdout: /^\d+\.\d+\.\d+( \(commit .*\))?\n$/, stderr: '' }, word);
});
