// Installers on the JVM call our plugin host: requests byte for byte as they send them, answers as they read them.

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringifyJson } from '../../../engine/model/json.ts';
import { unzip } from '../../conformance/plugin-client.ts';
import {
  CALL_SHAPES,
  getCall,
  JSON_TYPE,
  jsonCall,
  multipartCall,
  RawConnection,
  type SentPart,
  shapeOf,
} from '../../fixtures/java-plugin-client.ts';
import { serveHost } from './host-server.ts';
import { details, metadataJson, putZip, readTree, TYPE } from './host-setup.ts';

async function setup(t: Test) {
  const host = await serveHost(t);
  const dir = t.testdir({});
  const file = join(dir, 'payload.zip');
  // Longer than a chunk, so that parts and chunks have their borders in different places.
  const noise = randomBytes(50_000).toString('base64');
  await putZip(file, { 'a.txt': 'alpha', 'sub/noise.txt': noise });
  const zip = await readFile(file);
  const connection = await RawConnection.open(host.baseUrl);
  t.teardown(() => connection[Symbol.dispose]());
  const field = (name: string, content: string): SentPart => ({ name, type: JSON_TYPE, content });
  const payload = (fileName: string): SentPart => ({
    name: 'payload',
    fileName,
    type: 'application/zip',
    content: zip,
  });
  const call = (path: keyof typeof CALL_SHAPES, ...parts: SentPart[]) => {
    const bytes = multipartCall(path, connection.host, parts);
    t.strictSame(shapeOf(bytes), { path, parts: CALL_SHAPES[path] });
    return connection.exchange(bytes);
  };
  const importOf = (dataset: string) =>
    call('/import', field('details', importDetails(dataset)), payload('import-ready.zip'));
  const install = (dataset: string, dependency = false) =>
    call(
      '/install/data',
      field('details', details(dataset, { 'install-target': 'AlphaDB' })),
      field('meta', stringifyJson(metadataJson(dataset, dependency))),
      field('manifest', '{"rawUploads":[],"installReady":[{"name":"a.txt","size":5}]}'),
      payload('install-ready.zip'),
      properties('genes.tsv'),
      properties('größe 2.tsv'),
    );
  const installMeta = (dataset: string) =>
    call(
      '/install/meta',
      field('details', details(dataset, { 'install-target': 'AlphaDB', meta: metadataJson(dataset) })),
      properties('genes.tsv'),
      properties('größe 2.tsv'),
    );
  const uninstall = (dataset: string) =>
    connection.exchange(
      jsonCall('/uninstall', connection.host, details(dataset, { 'install-target': 'AlphaDB', type: TYPE })),
    );
  return { ...host, dir, noise, connection, importOf, install, installMeta, uninstall };
}

const properties = (fileName: string): SentPart => ({
  name: 'dataProperties',
  fileName,
  type: 'application/octet-stream',
  content: `of ${fileName}`,
});

/** Event ids are unsigned 64-bit numbers there, job ids 16-bit ones. */
const importDetails = (dataset: string): string =>
  `{"event-id":18446744073709551615,"vdi-id":"${dataset}","job-id":65535,"meta":${stringifyJson(metadataJson(dataset))}}`;

const OK = 'HTTP/1.1 200 OK';

t.test('every call succeeds over one connection, whatever protocol it offers to go on with', async (t) => {
  const { importOf, install, installMeta, uninstall, connection, dir, noise, site } = await setup(t);
  const imported = await importOf('ok-1');
  t.match([imported.status, imported.headers], [OK, { 'content-type': 'application/zip', upgrade: undefined }]);
  await writeFile(join(dir, 'reply.zip'), imported.body);
  const reply = await unzip(join(dir, 'reply.zip'));
  t.strictSame(Object.keys(reply), ['vdi-manifest.json', 'warnings.json', 'data.zip']);
  await writeFile(join(dir, 'data.zip'), reply['data.zip'] ?? '');
  t.equal(`${(await unzip(join(dir, 'data.zip')))['sub/noise.txt']}`, noise);

  const installed = await install('ok-1');
  t.match([installed.status, installed.headers['content-type']], [OK, /^application\/json/]);
  t.strictSame(JSON.parse(`${installed.body}`), {
    isValid: true,
    basicValidation: [],
    communityValidation: ['loaded'],
  });
  const meta = await installMeta('ok-1');
  t.strictSame([meta.status, meta.body.length], [OK, 0]);
  const {
    'env.txt': _env,
    'meta.json': _meta,
    'vdi-meta.json': _own,
    ...files
  } = (await readTree(join(site, 'ok-1'))) ?? {};
  t.strictSame(files, {
    'a.txt': 'alpha',
    'sub/noise.txt': noise,
    'genes.tsv': 'of genes.tsv',
    'größe 2.tsv': 'of größe 2.tsv',
  });
  const gone = await uninstall('ok-1');
  t.strictSame([gone.status, gone.body.length], [OK, 0]);
  t.strictSame(await readTree(site), {});
  const info = await connection.exchange(getCall('/service-info', connection.host));
  t.match([info.status, JSON.parse(`${info.body}`)], [OK, { manifest: { gitTag: 'v1', buildTime: String } }]);
});

t.test('every refusal and failure has its code and body', async (t) => {
  const { importOf, install, installMeta, uninstall, connection } = await setup(t);
  const said: Record<string, unknown> = {};
  const say = async (what: string, answer: ReturnType<typeof importOf>): Promise<void> => {
    const { status, body } = await answer;
    said[what] = [Number(status.split(' ')[1]), JSON.parse(`${body}`)];
  };
  await say('import 418', importOf('invalid-1'));
  await say('import 555', importOf('broken-1'));
  await say('install 418', install('invalid-1'));
  await say('install 420', install('missing-1', true));
  await say('install 555', install('broken-1'));
  await say('meta 418', installMeta('invalid-1'));
  await say('meta 555', installMeta('broken-1'));
  await say('uninstall 555', uninstall('stuck-1'));
  const unknown = multipartCall('/import', connection.host, [
    { name: 'details', fileName: 'details.json', type: JSON_TYPE, content: importDetails('ok-1') },
  ]);
  await say('a file where a field belongs', connection.exchange(unknown));
  const failed = (script: string, code: number) => [
    555,
    { script: new RegExp(`/${script}\\.sh$`), 'exit-code': code, message: new RegExp(`exit code ${code}$`) },
  ];
  t.match(said, {
    'import 418': [
      418,
      { isValid: false, basicValidation: ['no such gene'], communityValidation: ['the list is old'] },
    ],
    'import 555': failed('import', 3),
    'install 418': [418, { isValid: false, basicValidation: ['rows do not fit'], communityValidation: [] }],
    'install 420': [420, { warnings: ['PlasmoDB-51_Genome 51 is not installed'] }],
    'install 555': failed('install-data', 3),
    'meta 418': [418, { isValid: false, basicValidation: ['name is taken'], communityValidation: [] }],
    'meta 555': failed('install-meta', 3),
    'uninstall 555': failed('uninstall', 7),
    'a file where a field belongs': [400, { message: "part 'details' must be a field, not a file" }],
  });
});

t.test('numbers that hold their default may be absent', async (t) => {
  const { connection } = await setup(t);
  const bare = stringifyJson({ 'vdi-id': 'ok-1', 'install-target': 'AlphaDB', type: TYPE });
  t.equal((await connection.exchange(jsonCall('/uninstall', connection.host, bare))).status, OK);
});

t.test('a dependency of an installed dataset may have no display name, and metadata no dependencies', async (t) => {
  const { connection, baseUrl } = await setup(t);
  const installed = async (dependencies: unknown, dataset: string) => {
    using own = await RawConnection.open(baseUrl);
    const meta = stringifyJson({ ...metadataJson(dataset), dependencies });
    const parts = [{ ...DETAILS, content: details(dataset, { 'install-target': 'AlphaDB', meta: JSON.parse(meta) }) }];
    return (await own.exchange(multipartCall('/install/meta', connection.host, parts))).status;
  };
  const dependency = { resourceIdentifier: 'Genome', resourceVersion: '51', resourceDisplayName: '' };
  t.equal(await installed([dependency], 'ok-1'), OK);
  t.equal(await installed(undefined, 'ok-1'), OK);
  t.equal(await installed('none', 'ok-1'), 'HTTP/1.1 400 Bad Request');
  t.equal(await installed([{ ...dependency, resourceVersion: '5\n1' }], 'ok-1'), 'HTTP/1.1 400 Bad Request');
});

const DETAILS = { name: 'details', type: JSON_TYPE } as const;
