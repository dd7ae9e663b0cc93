// The program under attack: everything that `longshore up` runs, in one process, watched for its memory and for whether
// others are still served.

import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { Test } from 'tap';
import { freePortBase, tempDir, type Up, up } from '../../support/longshore.ts';

/** For the whole process, from its start to the end of the attack. */
export const MEMORY_CAP_MIB = 512;
/** What others may wait is a second; the rest is for a machine that is busy with other tests. */
const SERVED_WITHIN_MS = 15_000;

export interface Victim extends Up {
  /** The highest resident memory that the process ever had; its threads are part of it. */
  peakMib(): number;
  /** Somebody else asks, on a connection of their own: the milliseconds until the whole answer was there. */
  othersWait(url?: string): Promise<number>;
  /** It lives, stayed below the cap, and serves others. */
  holds(t: Test): Promise<void>;
}

export async function victim(t: Test, args: readonly string[] = []): Promise<Victim> {
  const app = await up(t, await tempDir(t), ['--port-base', String(await freePortBase()), ...args]);
  const { pid, installer } = app.endpoints;
  const peakMib = (): number =>
    Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  const othersWait = (url = `${installer}/ready`): Promise<number> => askElsewhere(url);
  t.comment(`peak before the attack: ${peakMib().toFixed(0)} MiB`);
  return {
    ...app,
    peakMib,
    othersWait,
    async holds(t) {
      const waited = await othersWait();
      t.ok(waited < SERVED_WITHIN_MS, `others were served in ${waited.toFixed(0)} ms`);
      t.ok(peakMib() < MEMORY_CAP_MIB, `peak ${peakMib().toFixed(0)} MiB, at most ${MEMORY_CAP_MIB}`);
      t.equal(app.child.exitCode, null, 'the process lives');
    },
  };
}

function askElsewhere(url: string): Promise<number> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const call = request(url, { agent: false, timeout: SERVED_WITHIN_MS }, (response) => {
      response.resume().once('end', () => resolve(performance.now() - begun));
      response.once('error', reject);
    });
    call.once('timeout', () => call.destroy(new Error(`no answer of ${url} within ${SERVED_WITHIN_MS} ms`)));
    call.once('error', reject).end();
  });
}
