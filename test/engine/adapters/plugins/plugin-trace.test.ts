import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { PluginHttp } from '../../../../engine/adapters/plugins/plugin-http.ts';
import type { DatasetId } from '../../../../engine/model/ids.ts';
import { newTraceparent, parseTraceparent, traceIdOf } from '../../../../engine/model/traceparent.ts';
import { PLUGIN_TARGET, PLUGIN_TYPE, pluginMetadata, textFile } from '../../../conformance/plugin-client.ts';

const signal = new AbortController().signal;

t.test(
  'every call tells the plugin server its trace, under an id of its own; one without a trace tells none',
  async (t) => {
    const seen: [string | undefined, unknown][] = [];
    const server = createServer((request, response) => {
      seen.push([request.url, request.headers.traceparent]);
      request.resume().on('end', () => response.writeHead(500).end('{"message":"not today"}'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    const scriptMs = { import: 10_000, installData: 10_000, installMeta: 10_000, uninstall: 10_000 };
    const client = new PluginHttp({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, scriptMs });
    t.teardown(() => client[Symbol.asyncDispose]());

    const traceparent = newTraceparent();
    const call = { eventId: 1, dataset: 'abc' as DatasetId, traceparent };
    const install = { ...call, target: PLUGIN_TARGET, metadata: pluginMetadata('abc'), properties: [] };
    const payload = textFile('import-ready.zip', 'text');
    await client.import(
      { ...call, metadata: pluginMetadata('abc'), payload, replyFile: join(t.testdir(), 'r') },
      signal,
    );
    await client.installData({ ...install, manifest: '{}', payload: textFile('install-ready.zip', 'text') }, signal);
    await client.installMeta(install, signal);
    await client.uninstall({ ...call, target: PLUGIN_TARGET, type: PLUGIN_TYPE }, signal);
    const told = seen.map(([, header]) => parseTraceparent(String(header)));
    t.strictSame(
      seen.map(([url]) => url),
      ['/import', '/install/data', '/install/meta', '/uninstall'],
    );
    t.strictSame(
      told.map((header) => header && traceIdOf(header)),
      Array.from({ length: 4 }, () => traceIdOf(traceparent)),
    );
    t.equal(new Set([...told, traceparent]).size, 5);

    const { traceparent: _, ...untraced } = call;
    await client.uninstall({ ...untraced, target: PLUGIN_TARGET, type: PLUGIN_TYPE }, signal);
    t.strictSame(seen.at(-1), ['/uninstall', undefined]);
  },
);
