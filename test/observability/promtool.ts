// The program promtool of Debian's package, as a child of the test.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Told {
  readonly code: number | null;
  /** Both streams, as they came. */
  readonly text: string;
}

export async function promtool(args: readonly string[], input = ''): Promise<Told> {
  const child = spawn('promtool', args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (said: string) => {
      text += said;
    });
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}
