// What a failed script printed reaches our own client through the protocol, and no other client sees a field that it does not know.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { PluginHttp } from '../../../engine/adapters/plugins/plugin-http.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import { OUTPUT_BYTES } from '../../../engine/model/script-evidence.ts';
import { PLUGIN_TARGET } from '../../conformance/plugin-client.ts';
import { TYPE } from './host-setup.ts';
import { scriptedHost } from './scripted-host.ts';

const signal = new AbortController().signal;
const SCRIPT_MS = { import: 10_000, installData: 10_000, installMeta: 10_000, uninstall: 10_000 };
const PRINTS = 'echo "reading rows"; echo "no such table" >&2;';
const OUTPUT = 'reading rows\nno such table';

t.test('our client gets what a failed script printed, however the failure is answered', async (t) => {
  const host = await scriptedHost(t, { hasty: () => ({ maxDurationMs: 200 }) });
  const client = new PluginHttp({ baseUrl: host.baseUrl, scriptMs: SCRIPT_MS });
  t.teardown(() => client[Symbol.asyncDispose]());
  const removed = async (dataset: string, text: string, type = TYPE.name) => {
    await writeFile(join(host.dir, `uninstall-${dataset}`), text);
    const call = { eventId: 1, dataset: dataset as DatasetId, target: PLUGIN_TARGET, type: { ...TYPE, name: type } };
    return await client.uninstall(call, signal);
  };
  t.match(await removed('failed', `${PRINTS} exit 3`), { kind: 'script-error', exitCode: 3, output: OUTPUT });
  t.match(await removed('slow', `${PRINTS} sleep 600`, 'hasty'), { kind: 'server-error', output: OUTPUT });
  await t.rejects(removed('later', `${PRINTS} exit 75`), {
    kind: 'transient',
    unreachable: false,
    message: /HTTP 503 \(.*exit code 75/,
    script: { exitCode: 75, output: OUTPUT },
  });
  const { output = '' } = (await removed('chatty', 'seq 1 20000 >&2; echo end >&2; exit 3')) as {
    output?: string;
  };
  t.ok(Buffer.byteLength(output) <= OUTPUT_BYTES && output.endsWith('end'), `${Buffer.byteLength(output)} bytes`);
  t.strictSame(await removed('silent', 'exit 3'), {
    kind: 'script-error',
    exitCode: 3,
    message: `script ${host.scripts.uninstall.path} ended with exit code 3`,
  });
});

t.test('a client that does not ask gets the fields that it knows', async (t) => {
  const host = await scriptedHost(t, { hasty: () => ({ maxDurationMs: 200 }) });
  for (const [dataset, text, fields, type] of [
    ['failed', 'exit 3', ['exit-code', 'message', 'script'], TYPE.name],
    ['slow', 'sleep 600', ['message'], 'hasty'],
    ['later', 'exit 75', ['message', 'status'], TYPE.name],
  ] as const) {
    const { json } = await host.call('uninstall', dataset, { uninstall: `${PRINTS} ${text}` }, { type });
    t.strictSame(
      Object.keys(json as object)
        .filter((name) => name !== 'requestId')
        .sort(),
      fields,
      dataset,
    );
  }
});

t.test('a server may send anything as output', async (t) => {
  const { parseScriptError, parseServerError } = await import(
    '../../../engine/adapters/plugins/plugin-http-replies.ts'
  );
  for (const output of [7, null, '', ['x']]) {
    t.notOk('output' in parseScriptError(JSON.stringify({ message: 'm', output }), 'here'));
    t.notOk('output' in parseServerError(JSON.stringify({ message: 'm', output }), 'here'));
  }
  const { output = '' } = parseServerError(JSON.stringify({ message: 'm', output: 'x'.repeat(100_000) }), 'here');
  t.ok(output.length > 8_000 && output.length <= OUTPUT_BYTES, `${output.length} bytes`);
});
