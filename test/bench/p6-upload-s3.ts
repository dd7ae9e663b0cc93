// P6: the upload of P5 into an S3 server (Ceph's radosgw), beside a bare PUT of the same body and beside Amazon's client.

import { startRadosgw } from '../stack/radosgw.ts';
import { s3OptionsOf } from '../stack/s3-options.ts';
import { MIB, upload } from './p5-upload.ts';
import { Program } from './program.ts';
import type { BenchRow, Round } from './row.ts';

const KINDS = { ours: 'oursS3', raw: 'rawS3', sdk: 'sdkS3' } as const;

export const rows: readonly BenchRow[] = [
  {
    id: 'P6',
    title: `upload of ${MIB} MiB (multipart) into radosgw, plain HTTP`,
    unit: 'MB/s',
    better: 'higher',
    sides: {
      raw: { is: 'limit', what: 'bare node:http, the body piped into one signed PUT with its length' },
      sdk: { is: 'peer', what: 'bare node:http, the body by @aws-sdk/lib-storage as it comes' },
    },
    bars: [
      { over: 'raw', atLeast: 0.9 },
      { over: 'sdk', atLeast: 1.5 },
    ],
    async measure(rounds) {
      await using cleanup = new AsyncDisposableStack();
      const t = { teardown: (fn: () => unknown) => cleanup.defer(async () => void (await fn())) };
      // What a round overwrites stays.
      const radosgw = await startRadosgw(t, { durable: true, gib: 4 + Math.ceil((3 * (rounds + 1) * MIB) / 1_024) });
      const order = JSON.stringify({ s3: s3OptionsOf(radosgw, await radosgw.makeBucket()) });
      const ports: Record<string, number> = {};
      for (const [name, kind] of Object.entries(KINDS))
        ports[name] = cleanup.use(await Program.start('upload-server.ts', kind, order)).port;
      const measured: Round[] = [];
      for (let n = -1; n < rounds; n++) {
        const round: Record<string, number> = {};
        for (const [name, port] of Object.entries(ports)) round[name] = await upload(port);
        if (n >= 0) measured.push(round as Round);
      }
      return measured;
    },
  },
];
