// What a running program keeps in memory: after a collection, so without garbage that nobody had to free yet. Asked through the
// inspector of the process, which the signal opens.

import { setTimeout } from 'node:timers/promises';
import type { Up } from './longshore.ts';

/** For a program whose memory is asked for: its inspector listens on a free port. */
export const INSPECTED = { NODE_OPTIONS: '--inspect-port=127.0.0.1:0' } as const;

export interface KeptMemory {
  /** JavaScript heap of the main thread. */
  readonly heapMib: number;
  readonly rssMib: number;
}

const LOOK_MS = 50;
const PATIENCE_MS = 30_000;
const MIB = 1024 ** 2;

/** The program was started with {@link INSPECTED}. */
export async function keptMemory(app: Pick<Up, 'endpoints' | 'printed'>): Promise<KeptMemory> {
  const socket = new WebSocket(await inspectorOf(app));
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', reject, { once: true });
    });
    await call(socket, 1, 'HeapProfiler.enable');
    await call(socket, 2, 'HeapProfiler.collectGarbage');
    const expression = 'JSON.stringify(process.memoryUsage())';
    const { result } = (await call(socket, 3, 'Runtime.evaluate', { expression })) as { result: { value: string } };
    const { heapUsed, rss } = JSON.parse(result.value) as NodeJS.MemoryUsage;
    return { heapMib: heapUsed / MIB, rssMib: rss / MIB };
  } finally {
    socket.close();
  }
}

async function inspectorOf({ endpoints, printed }: Pick<Up, 'endpoints' | 'printed'>): Promise<string> {
  for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await setTimeout(LOOK_MS)) {
    const address = /Debugger listening on (ws:\S+)/.exec(printed())?.[1];
    if (address !== undefined) return address;
    process.kill(endpoints.pid, 'SIGUSR1');
  }
  throw new Error('the inspector did not open');
}

function call(socket: WebSocket, id: number, method: string, params: object = {}): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const take = ({ data }: MessageEvent): void => {
    const answer = JSON.parse(String(data)) as { id?: number; result?: unknown };
    if (answer.id !== id) return;
    socket.removeEventListener('message', take);
    resolve(answer.result);
  };
  socket.addEventListener('message', take);
  socket.send(JSON.stringify({ id, method, params }));
  return promise;
}
