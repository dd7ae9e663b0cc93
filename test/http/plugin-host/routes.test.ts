import { readdir, readFile } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { stringifyJson } from '../../../engine/model/json.ts';
import { SCRIPT_RAN } from '../../../engine/ports/plugin-client.ts';
import { readParts } from '../../../http/plugin-host/request-parts.ts';
import { PromisedAnswers } from '../access/promised-answers.ts';
import { type ServeChanges, serveHost } from './host-server.ts';
import { details, hostedPlugin, metadataJson, putZip, readTree, TYPE } from './host-setup.ts';

async function setup(t: Test, changes: ServeChanges = {}) {
  const served = await serveHost(t, changes);
  const { baseUrl } = served;
  const promised = new PromisedAnswers(served.routes);
  const zipFile = join(t.testdir(), 'payload.zip');
  await putZip(zipFile, { 'a.txt': 'alpha' });
  const zip = new Blob([await readFile(zipFile)], { type: 'application/zip' });
  /** Fields are text, files are blobs with a name. */
  const form = (parts: readonly (readonly [name: string, value: string | Blob, fileName?: string])[]): FormData => {
    const data = new FormData();
    for (const [name, value, fileName] of parts) {
      if (typeof value === 'string') data.append(name, value);
      else data.append(name, value, fileName);
    }
    return data;
  };
  const post = async (path: string, body: FormData | string, headers: Record<string, string> = {}) => {
    const response = await fetch(baseUrl + path, { method: 'POST', body, headers });
    const bytes = Buffer.from(await response.arrayBuffer());
    const json = /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(bytes.toString()) : undefined;
    promised.demand('POST', path, response.status, json);
    return { status: response.status, headers: response.headers, bytes, text: bytes.toString() };
  };
  const importForm = (dataset: string) =>
    form([
      ['details', details(dataset, { meta: metadataJson(dataset) })],
      ['payload', zip, 'import-ready.zip'],
    ]);
  const installForm = (dataset: string) =>
    form([
      ['details', details(dataset, { 'install-target': 'AlphaDB' })],
      ['meta', stringifyJson(metadataJson(dataset))],
      ['manifest', '{}'],
      ['payload', zip, 'install-ready.zip'],
      ['dataProperties', new Blob(['p']), 'ignored.tsv'],
    ]);
  const uninstallBody = (dataset: string) => details(dataset, { 'install-target': 'AlphaDB', type: TYPE });
  return { ...served, zip, form, post, importForm, installForm, uninstallBody };
}

/** The workspace goes after the answer: resolves when it is gone, else the test runs into its time limit. */
async function emptied(dir: string): Promise<void> {
  while ((await readdir(dir)).length > 0) await nextTurn();
}

const JSON_TYPE = { 'content-type': 'application/json' };

t.test('requests that are not of the protocol are told so', async (t) => {
  const { post, form, zip, importForm, uninstallBody, baseUrl } = await setup(t, {
    routes: { maxPayloadBytes: 1_000 },
  });
  const ok = ['details', details('ok-1', { meta: metadataJson('ok-1') })] as const;
  const payload = ['payload', zip, 'x.zip'] as const;
  const file = (content: string) => ['payload', new Blob([content]), 'x'] as const;
  const climbing = ['dataProperties', new Blob(['p']), '../escape.tsv'] as const;
  const install = (more: object) => ['details', details('ok-1', more)] as const;
  const forms: readonly (readonly [path: string, parts: Parameters<typeof form>[0], code: number, message: RegExp])[] =
    [
      ['/import', [payload], 400, /part 'details' is missing/],
      ['/import', [ok], 400, /part 'payload' is missing/],
      ['/import', [ok, ok, payload], 400, /part 'details' comes twice/],
      ['/import', [ok, payload, payload], 400, /part 'payload' comes twice/],
      ['/import', [['details', new Blob([ok[1]]), 'd.json'], payload], 400, /must be a field/],
      ['/import', [ok, ['other', zip, 'o.zip'], payload], 400, /part 'other' is not known/],
      ['/import', [ok, ['payload', 'text']], 400, /part 'payload' must be a file/],
      ['/import', [['details', '{'], payload], 400, /details: not JSON/],
      ['/import', [['details', 'x'.repeat(1_100_000)], payload], 400, /longer than 1048576 bytes/],
      ['/import', [ok, file('x'.repeat(2_000))], 413, /larger than 1000 bytes/],
      ['/import', [ok, file('no zip')], 400, /zip/],
      ['/install/meta', [install({ meta: {} })], 400, /'install-target' is missing/],
      [
        '/install/meta',
        [install({ 'install-target': 'AlphaDB', meta: metadataJson('x') }), climbing],
        400,
        /must not hold \//,
      ],
    ];
  const cases: readonly (readonly [string, FormData | string, Record<string, string>, number, RegExp])[] = [
    ...forms.map(([path, parts, code, message]) => [path, form(parts), {}, code, message] as const),
    ['/import', '{}', JSON_TYPE, 415, /expected multipart\/form-data/],
    ['/uninstall', uninstallBody('../../etc'), JSON_TYPE, 400, /'vdi-id'/],
    ['/uninstall', 'x', JSON_TYPE, 400, /not JSON/],
    ['/uninstall', uninstallBody('ok-1'), { 'content-type': 'text/plain' }, 415, /expected application\/json/],
  ];
  for (const [path, body, headers, code, message] of cases) {
    const { status, text } = await post(path, body, headers);
    t.match({ status, message: JSON.parse(text).message }, { status: code, message }, `${path} ${message}`);
  }
  t.equal((await fetch(`${baseUrl}/import`)).status, 405);
  t.equal((await post('/import', importForm('ok-1'))).status, 200);
});

t.test('unknown fields are ignored, and on installs unknown files too', async (t) => {
  const { post, form, importForm, installForm, zip } = await setup(t);
  const withField = importForm('ok-1');
  withField.append('job', 'x');
  t.equal((await post('/import', withField)).status, 200);
  const withFile = installForm('ok-1');
  withFile.append('extra', zip, 'extra.zip');
  t.equal((await post('/install/data', withFile)).status, 200);
  const asFiles = form([
    ['details', new Blob([details('ok-2', { 'install-target': 'AlphaDB' })]), 'details.json'],
    ['meta', new Blob([stringifyJson(metadataJson('ok-2'))]), 'meta.json'],
    ['manifest', new Blob(['{}']), 'manifest.json'],
    ['payload', zip, 'x.zip'],
  ]);
  t.equal((await post('/install/data', asFiles)).status, 200);
});

t.test('with a token configured only its holder may change anything', async (t) => {
  const { post, importForm, uninstallBody, baseUrl, site } = await setup(t, { routes: { token: 'host-secret' } });
  for (const authorization of [undefined, 'Bearer wrong', 'Basic host-secret', 'Bearer']) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    for (const path of ['/import', '/install/data', '/install/meta'])
      t.equal((await post(path, importForm('ok-1'), headers)).status, 401, path);
    t.equal((await post('/uninstall', uninstallBody('ok-1'), { ...JSON_TYPE, ...headers })).status, 401);
  }
  const headers = { authorization: 'Bearer host-secret' };
  t.equal((await post('/import', importForm('ok-1'), headers)).status, 200);
  for (const path of ['/service-info', '/health', '/metrics', '/ready'])
    t.equal((await fetch(baseUrl + path)).status, 200, path);
  t.equal(await readTree(site), undefined);
});

t.test('what an operator asks is answered', async (t) => {
  const { baseUrl, routes, post, importForm } = await setup(t);
  await post('/import', importForm('invalid-1'));
  const about = await (await fetch(`${baseUrl}/service-info`)).json();
  new PromisedAnswers(routes).demand('GET', '/service-info', 200, about);
  t.match(about, { manifest: { gitTag: 'v1', buildNumber: '1' } });
  t.match(await (await fetch(`${baseUrl}/health`)).json(), { status: 'healthy' });
  const metrics = await (await fetch(`${baseUrl}/metrics`)).text();
  t.match(metrics, /longshore_import_script_executions_total\{plugin="test",exit_status="validation_failure"\} 1/);
  t.match(metrics, /longshore_script_import_duration_seconds_count\{plugin="test"\} 1/);
});

t.test('what a script fails with while a disk is full is not said of the data', async (t) => {
  let lack: string | undefined = 'the disk of the plugin host has 5 bytes free; writes stop below 10';
  const { post, importForm } = await setup(t, { routes: { room: { lack: async () => lack } } });
  t.equal((await post('/import', importForm('ok-1'))).status, 200);
  for (const dataset of ['invalid-1', 'broken-1']) {
    const { status, text, headers } = await post('/import', importForm(dataset));
    t.match([status, JSON.parse(text), headers.get('retry-after')], [503, { message: lack }, '30'], dataset);
    t.ok(headers.has(SCRIPT_RAN), 'the caller knows that a script ran');
  }
  lack = undefined;
  t.equal((await post('/import', importForm('invalid-1'))).status, 418);
});

t.test('a host without room says when to come back, before it reads the body', async (t) => {
  const { post, importForm, host, workDir } = await setup(t, {
    host: (options) => ({ ...options, gate: { maxScripts: 1, maxCalls: 1, maxWaitMs: 50 } }),
  });
  const place = host.admit();
  const { status, headers, text } = await post('/import', importForm('ok-1'));
  t.same(
    [status, headers.get('retry-after'), JSON.parse(text).message],
    [503, '5', '1 calls are being served already'],
  );
  t.notOk(headers.has(SCRIPT_RAN), 'nothing was done');
  t.same(await readdir(workDir), []);
  place[Symbol.dispose]();
  t.equal((await post('/import', importForm('ok-1'))).status, 200);
});

t.test('a script may take longer than a connection may stand still', async (t) => {
  const { post, importForm } = await setup(t, {
    // Longer than a machine may stall while the call is being sent.
    idleTimeoutMs: 2_500,
    host: (options) => ({
      ...options,
      plugins: options.plugins.map((plugin) => {
        const dataCleaning = { ...plugin.scripts.dataCleaning, maxDurationMs: 3_000 };
        return { ...plugin, scripts: { ...plugin.scripts, dataCleaning } };
      }),
    }),
  });
  const { status, text } = await post('/import', importForm('slow-1'));
  t.match({ status, ...JSON.parse(text) }, { status: 500, message: /longer than its 3 s/ });
});

t.test('one host serves several plugins, by the type of the dataset', async (t) => {
  const { post, form, zip, uninstallBody } = await setup(t, {
    host: (options) => {
      const [first] = options.plugins;
      if (!first) throw new Error('no plugin');
      const [type] = first.dataTypes;
      if (!type) throw new Error('no type');
      const { scripts } = hostedPlugin(first.installRoot);
      const second = {
        ...first,
        name: 'second',
        dataTypes: [{ ...type, name: 'othertype' }],
        scripts: { ...scripts, dataCleaning: { path: '/bin/false', maxDurationMs: 1_000 } },
      };
      return { ...options, plugins: [first, second] };
    },
  });
  const meta = { ...metadataJson('ok-1'), type: { name: 'OtherType', version: '1.0' } };
  const reply = await post(
    '/import',
    form([
      ['details', details('ok-1', { meta })],
      ['payload', zip, 'x.zip'],
    ]),
  );
  t.match({ status: reply.status, ...JSON.parse(reply.text) }, { status: 555, script: '/bin/false', 'exit-code': 1 });
  t.equal((await post('/uninstall', uninstallBody('ok-1'), JSON_TYPE)).status, 200);
});

t.test('a caller that goes away ends its script', async (t) => {
  const { baseUrl, importForm, workDir, metrics } = await setup(t);
  const stop = new AbortController();
  const calling = fetch(`${baseUrl}/import`, { method: 'POST', body: importForm('slow-1'), signal: stop.signal });
  const started = async (): Promise<boolean> =>
    (await readdir(workDir, { recursive: true })).some((path) => path.endsWith('input/vdi-meta.json'));
  while (!(await started())) await nextTurn();
  stop.abort();
  await t.rejects(calling);
  await emptied(workDir);
  t.match(await metrics.text(), /import_script_executions_total\{plugin="test",exit_status="aborted"\} 1/);
});

t.test('a caller that went away before its body was read is not waited for', async (t) => {
  const request = new IncomingMessage(new Socket());
  const wanted = { documents: ['details'], strict: true, maxPayloadBytes: 1 } as const;
  await t.rejects(readParts(request, wanted, AbortSignal.abort(new Error('went away'))), { message: 'went away' });
});
