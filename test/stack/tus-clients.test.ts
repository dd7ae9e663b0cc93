// Resumable uploads by clients that people use, unmodified, on both stores. The connection breaks in the middle; the clients go on
// by themselves, and a dataset is made of what they sent.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import t, { type Test } from 'tap';
import { openDirectoryStore } from '../../engine/adapters/directory/directory-store.ts';
import { DirectoryUploadBytes } from '../../engine/adapters/directory/directory-upload-bytes.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import { S3UploadBytes } from '../../engine/adapters/s3/s3-upload-bytes.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { browser } from '../browser/browser.ts';
import { FakeChangeJournal } from '../fakes/fake-change-journal.ts';
import { soundDetails } from '../http/installer/installation.ts';
import { type AppOptions, installerApp } from '../http/installer/installer-app.ts';
import { cacheDatabase } from '../support/cache-database.ts';
import { CountingRelay } from '../support/counting-relay.ts';
import { livingProcess } from '../support/database.ts';
import { newUser } from '../support/dataset-samples.ts';
import { tempDir } from '../support/longshore.ts';
import { installFolder } from '../support/npm-folder.ts';
import { startRadosgw } from './radosgw.ts';
import { s3OptionsOf } from './s3-options.ts';

const MIB = 1024 * 1024;
const SIZE = 48 * MIB;
const CUT_AT = 40 * MIB;
/**
 * Chromium itself repeats a request whose connection was reset, with all of its body: at the offset of before, so we refuse it.
 * Of a larger body, we would read 64 MiB at most.
 */
const TWICE = 64 * MIB;
const CLIENTS = join(import.meta.dirname, 'tus-clients');
const run = promisify(execFile);
const signal = new AbortController().signal;

installFolder(join(import.meta.dirname, 'tus-clients'));
const radosgw = await startRadosgw(t);
const db = await cacheDatabase(t);
const chromium = await browser(t);
const content = Buffer.from(Uint8Array.from({ length: SIZE }, (_, i) => (i * 31 + (i >> 8) * 17) & 255));

type Storage = NonNullable<AppOptions['storage']>;

const STORES: Readonly<Record<string, (t: Test) => Promise<Storage>>> = {
  'the directory store': async (t) => {
    const path = t.testdir();
    const options = { path, journal: new FakeChangeJournal(), clock: systemClock, log: silentLogger() };
    const store = await openDirectoryStore(options, signal);
    return { store, uploadBytes: new DirectoryUploadBytes(path, store) };
  },
  S3: async (t) => {
    const options = s3OptionsOf(radosgw, await radosgw.makeBucket());
    const store = new S3Store(options, { log: silentLogger() });
    const uploadBytes = new S3UploadBytes(options, store, { log: silentLogger() });
    t.teardown(() => {
      uploadBytes[Symbol.dispose]();
      store[Symbol.dispose]();
    });
    return { store, uploadBytes };
  },
};

/** Serves the page of the browser's client. */
async function page(t: Test): Promise<string> {
  const { outputFiles } = await build({
    ...{ entryPoints: [join(CLIENTS, 'browser-client.js')], bundle: true, write: false, format: 'iife' },
    logLevel: 'silent',
  });
  const script = outputFiles[0]?.text ?? '';
  const server = createServer((request, response) => {
    const isScript = request.url === '/client.js';
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
    response.end(isScript ? script : '<!doctype html><script src="/client.js"></script>');
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close().closeAllConnections());
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Client {
  readonly name: string;
  /** Returns the URL of the upload. */
  readonly upload: (t: Test, endpoint: string, token: string, site: string) => Promise<string>;
}

const CLIENT_KINDS: readonly Client[] = [
  {
    name: 'tus-js-client in Node',
    upload: async (t, endpoint, token) => {
      const file = join(await tempDir(t), 'genes.zip');
      await writeFile(file, content);
      return (await run(process.execPath, [join(CLIENTS, 'node-client.js'), endpoint, token, file])).stdout.trim();
    },
  },
  {
    name: 'Uppy in Chromium',
    upload: async (_t, endpoint, token, site) => {
      const tab = await chromium.newPage();
      await tab.goto(site);
      const order = { endpoint, token, name: 'genes.zip', size: SIZE };
      const url = await tab.evaluate(`window.uploadWithUppy(${JSON.stringify(order)})`);
      await tab.close();
      return String(url);
    },
  },
];

for (const [where, open] of Object.entries(STORES))
  for (const { name, upload } of CLIENT_KINDS)
    t.test(`${name} continues after its connection broke, on ${where}`, async (t) => {
      const storage = await open(t);
      const { instance } = await livingProcess(t, db);
      const site = await page(t);
      const settings = { maxUploadBytes: 64 * MIB, userMaxStorageBytes: 256 * MIB };
      const app = await installerApp(t, db, { instance, storage, settings, cors: [site] });
      const user = newUser();
      const relay = await CountingRelay.open(t, app.port);
      const reopened = relay.struckAt(CUT_AT).then(() => relay.reopen());
      const url = await upload(t, `http://127.0.0.1:${relay.port}/uploads`, user, site);
      await reopened;
      t.ok(relay.bytes - SIZE < TWICE, `${relay.bytes - SIZE} bytes were sent twice`);
      const id = url.split('/').at(-1) ?? '';
      const answer = await app.call(user, 'POST', '/datasets', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ details: soundDetails(), uploadIds: [id] }),
      });
      t.equal(answer.status, 202, JSON.stringify(answer.body));
      const { datasetId } = answer.body as { readonly datasetId: string };
      t.equal(await digestOf(storage.store, `${user}/${datasetId}/raw/genes.zip`), digest(content));
    });

async function digestOf(store: Pick<ObjectStore, 'get'>, key: string): Promise<string | undefined> {
  const opened = await store.get(key, undefined, signal);
  return opened && digest(await buffer(opened.body));
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
