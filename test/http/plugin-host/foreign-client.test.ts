// Installers on the JVM call our plugin host: requests byte for byte as they send them, answers as they read them.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringifyJson } from '../../../engine/model/json.ts';
import { getCall, JSON_TYPE, jsonCall, multipartCall, RawConnection } from '../../fixtures/java-plugin-client.ts';
import { serveHost } from './host-server.ts';
import { details, metadataJson, readTree, TYPE } from './host-setup.ts';
import { importDetails, javaCalls } from './java-calls.ts';

// Longer than a chunk, so that parts and chunks have their borders in different places.
const NOISE = randomBytes(50_000).toString('base64');
const FILES = { 'a.txt': 'alpha', 'sub/noise.txt': NOISE };
const DEPENDENCY = {
  ...{ resourceIdentifier: 'PlasmoDB-51_Genome', resourceVersion: '51', resourceDisplayName: 'A genome' },
};

async function setup(t: Test) {
  const host = await serveHost(t);
  return { ...host, ...(await javaCalls(t, host)) };
}

const OK = 'HTTP/1.1 200 OK';

t.test('every call succeeds over one connection, whatever protocol it offers to go on with', async (t) => {
  const { importOf, install, installMeta, uninstall, unpacked, connection, site } = await setup(t);
  const imported = await importOf('ok-1', FILES);
  const head = { 'content-type': 'application/zip', 'content-length': `${imported.body.length}`, upgrade: undefined };
  t.match([imported.status, imported.headers], [OK, head]);
  const reply = await unpacked(imported.body);
  t.strictSame(Object.keys(reply), ['vdi-manifest.json', 'warnings.json', 'data.zip']);
  t.equal(`${(await unpacked(reply['data.zip']))['sub/noise.txt']}`, NOISE);

  const installed = await install('ok-1', FILES);
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
    'sub/noise.txt': NOISE,
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
  await say('import 418', importOf('invalid-1', FILES));
  await say('import 555', importOf('broken-1', FILES));
  await say('install 418', install('invalid-1', FILES));
  await say('install 420', install('missing-1', FILES, [DEPENDENCY]));
  await say('install 555', install('broken-1', FILES));
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
