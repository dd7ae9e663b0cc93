// The proxies of config/deploy/PROXY.md, as the page shows them, in front of the program.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { parse } from 'yaml';
import { details } from '../contract/client.ts';
import { ended } from '../contract/watch.ts';
import { OWNER, world } from '../contract/world.ts';
import { freePortBase, ROOT, tempDir } from '../support/longshore.ts';
import { blocks } from '../support/readmes.ts';
import { ServerProcess } from './server-process.ts';

const FILE = 'config/deploy/PROXY.md';
const page = { file: FILE, text: await readFile(join(ROOT, FILE), 'utf8') };
const block = (language: string): string => {
  const [only, another] = blocks(page, language);
  if (only === undefined || another !== undefined) throw new Error(`${FILE} has not one block of ${language}`);
  return only;
};
const { containerCore } = parse(block('yaml')) as { containerCore: { http: { basePath: { installer: string } } } };
const at = await world(t, { http: containerCore.http });
const own = containerCore.http.basePath.installer;
const token = await at.token(OWNER);
const id = await at.owner.upload(
  details({ datasetCharacteristics: { studyDesign: 'cohort', studyType: 'trial' } }),
  'genes.txt',
);
await ended(at.dir, id);

const listening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** The block with the ports of this run in the place of those that it shows. */
function onOurPorts(text: string, port: number): string {
  const moved = text
    .replace('127.0.0.1:8000', `127.0.0.1:${port}`)
    .replace('127.0.0.1:8080', new URL(at.endpoints.installer).host)
    .replace('127.0.0.1:8083', new URL(at.endpoints.access).host);
  if (/:80[08]\d/.test(moved)) throw new Error('a port of the page is still there');
  return moved;
}

async function proves(t: Test, port: number): Promise<void> {
  const base = `http://127.0.0.1:${port}`;
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(base + path, { redirect: 'manual', headers: { auth_key: token, ...headers } });
    return { version: response.headers.get('api-version'), status: response.status, body: await response.json() };
  };
  const old = await get(`${own}/datasets/${id}`);
  t.match([old.status, old.version], [200, '1.7.0']);
  t.match(old.body, { studyCharacteristics: { studyDesign: 'cohort' } });
  const named = await get(`${own}/datasets/${id}`, { 'api-version': '1.8.0' });
  t.match([named.status, named.version], [200, '1.8.0'], 'who names a version keeps it');
  t.match(named.body, {
    datasetCharacteristics: { studyDesign: 'cohort' },
    revisionHistory: { revisions: [{ fileListUrl: `${base}${own}/datasets/${id}/files` }] },
  });
  t.match(await get('/study-access/permissions'), { status: 200, body: { perDataset: {} } });
}

t.test('nginx publishes each front end under its path, and adds the version', async (t) => {
  const dir = await tempDir(t);
  const port = await freePortBase();
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`);
  const config = `daemon off; pid ${dir}/pid; error_log stderr; worker_processes 1;
    events { } http { access_log off; ${temp.join(' ')}\n${onOurPorts(block('nginx'), port)} }`;
  await writeFile(join(dir, 'nginx.conf'), config);
  await using _proxy = await ServerProcess.start({
    program: '/usr/sbin/nginx',
    args: ['-c', join(dir, 'nginx.conf'), '-p', dir, '-e', 'stderr'],
    log: join(dir, 'log'),
    ready: () => listening(port),
  });
  await proves(t, port);
});

t.test('Caddy publishes each front end under its path, and adds the version', async (t) => {
  const dir = await tempDir(t);
  const port = await freePortBase();
  await mkdir(join(dir, 'home'));
  await writeFile(join(dir, 'Caddyfile'), `{\n\tadmin off\n}\n${onOurPorts(block('caddyfile'), port)}`);
  await using _proxy = await ServerProcess.start({
    program: '/usr/bin/caddy',
    args: ['run', '--config', join(dir, 'Caddyfile'), '--adapter', 'caddyfile'],
    env: { HOME: join(dir, 'home') },
    log: join(dir, 'log'),
    ready: () => listening(port),
  });
  await proves(t, port);
});
