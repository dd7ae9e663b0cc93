// One request through a running `longshore up`: its trace is in the log of everything that it caused, and plugins are told.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FormData, fetch } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';
import { settled } from '../support/site-state.ts';
import { configureWithRemote } from './configure-with-remote.ts';

const path = await tempDir(t);
const pluginPort = await freePort();
const portBase = await freePortBase();
await configureWithRemote(path, portBase, pluginPort);

/** Headers of the calls that the remote plugin got; it finds every upload invalid. */
const told: [string | undefined, unknown][] = [];
const plugin = createServer((request, response) => {
  if (request.method === 'POST') told.push([request.url, request.headers.traceparent]);
  request.resume().on('end', () => {
    response.writeHead(request.method === 'POST' ? 418 : 200, { 'content-type': 'application/json' });
    response.end('{"basicValidation":["no"],"communityValidation":[]}');
  });
}).listen(pluginPort, '127.0.0.1');
await once(plugin, 'listening');
t.teardown(() => {
  plugin.closeAllConnections();
  plugin.close();
});

const app = await up(t, path, ['--port-base', String(portBase)]);
const token = await app.token('11');

async function upload(type: string, traceparent: string): Promise<void> {
  const form = new FormData();
  const details = new Blob([JSON.stringify(detailsOf(type))], { type: 'application/json' });
  form.append('details', details);
  // More than is packed before the 202, so the upload has a job of its own.
  form.append('dataFile', new Blob([geneList(6_000)]), 'genes.txt');
  const response = await fetch(`${app.endpoints.installer}/datasets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, traceparent },
    body: form,
  });
  t.equal(response.status, 202, await response.text());
  await settled(path);
}

/** What the log says of the trace, in the words that matter here, each once. */
function linesOf(trace: string): readonly string[] {
  const lines = readFileSync(join(path, 'longshore.log'), 'utf8').split('\n').filter(Boolean);
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const own = records.filter((record) => record.trace === trace);
  return [...new Set(own.map(({ actor, lane, msg }) => `${lane ?? actor}: ${msg}`))].sort();
}

/** Others may be there too: whether a second event of one change finds a job still waiting is a matter of time. */
function expectLines(t: Test, trace: string, wanted: readonly string[]): void {
  const lines = linesOf(trace);
  t.strictSame(
    wanted.filter((line) => !lines.includes(line)),
    [],
    lines.join(', '),
  );
}

t.test('a plugin elsewhere is told the trace of the upload, under another id', async (t) => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  await upload('remote', `00-${trace}-00f067aa0ba902b7-01`);
  t.match(told, [['/import', new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`)]]);
  t.notMatch(told[0]?.[1], '00f067aa0ba902b7');
  expectLines(t, trace, ['import: job ended', 'installer: upload accepted', 'upload: job ended']);
});

t.test('the log of hosted plugins, of every lane and of the front end has the trace', async (t) => {
  const trace = '0af7651916cd43dd8448eb211c80319c';
  await upload('genelist', `00-${trace}-b7ad6b7169203331-00`);
  expectLines(t, trace, [
    'installer: upload accepted',
    'upload: job ended',
    'import: job ended',
    'install: job ended',
    'pluginHost: script started',
    'pluginHost: script ended',
  ]);
});

t.test('a header that is no trace is ignored, and the request has one of its own', async (t) => {
  const before = told.length;
  await upload('remote', '00-zzz-b7ad6b7169203331-00');
  const [, header] = told[before] ?? [];
  t.match(header, /^00-[0-9a-f]{32}-[0-9a-f]{16}-02$/);
  const trace = String(header).slice(3, 35);
  expectLines(t, trace, ['import: job ended', 'installer: upload accepted', 'upload: job ended']);
});
