// Memory stays flat, whatever goes through the S3 store: a process that puts and gets 300 MB, of known and of unknown
// length, needs hardly more than one that did so with 32 MB.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { startRadosgw } from './radosgw.ts';
import { s3OptionsOf } from './s3-options.ts';

const ALLOWED_MIB = 64;
const root = join(import.meta.dirname, '..', '..');
const radosgw = await startRadosgw(t);

const script = `
  import { readFileSync } from 'node:fs';
  import { Readable } from 'node:stream';
  import { S3Store } from '${root}/engine/adapters/s3/s3-store.ts';
  import { silentLogger } from '${root}/engine/runtime/log.ts';

  const options = JSON.parse(readFileSync(0, 'utf8'));
  const store = new S3Store(options, { log: silentLogger() });
  const signal = new AbortController().signal;
  const MIB = 1024 * 1024;
  const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  async function* bytes(mib) {
    // Memory of its own each time, as what comes from a socket has.
    for (let i = 0; i < mib * 16; i++) yield Buffer.alloc(64 * 1024, i);
  }
  async function pass(mib) {
    for (const size of [mib * MIB, undefined]) {
      await store.put('1/a/x', Readable.from(bytes(mib)), size === undefined ? {} : { size }, signal);
      const opened = await store.get('1/a/x', undefined, signal);
      let got = 0;
      for await (const chunk of opened.body) got += chunk.length;
      if (got !== mib * MIB) throw new Error('got ' + got);
    }
    return peak();
  }
  const warm = [await pass(32), await pass(32)];
  console.log(JSON.stringify({ before: warm[1], after: await pass(300) }));
`;

t.test('300 MB in and out, of known and unknown length', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  child.stdin.end(JSON.stringify(s3OptionsOf(radosgw, await radosgw.makeBucket())));
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  t.equal(code, 0);
  const { before, after } = JSON.parse(said) as { readonly before: number; readonly after: number };
  t.comment(`peak after 32 MB: ${before.toFixed(0)} MiB, after 300 MB: ${after.toFixed(0)} MiB`);
  t.ok(after - before < ALLOWED_MIB, `the peak grew by ${(after - before).toFixed(0)} MiB`);
});
