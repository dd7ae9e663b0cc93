// Entry of the product's worker threads in the measures of lanes.

import { serveTasks } from '../../../engine/threads/thread.ts';
import { digest, noop } from './fixed-work.ts';

export interface BenchTasks {
  readonly noop: { readonly input: number; readonly output: number };
  readonly digest: { readonly input: number; readonly output: string };
  /** Its thread dies. */
  readonly die: { readonly input: number; readonly output: never };
}

const open = async (): Promise<Record<never, never>> => ({});

export default serveTasks<BenchTasks, null, Record<never, never>>(open, {
  noop: async (n) => noop(n),
  digest: async () => digest(),
  die: async () => process.exit(1),
});
