// Entry of the product's worker threads in the measures of lanes: a job that does nothing.

import { serveTasks } from '../../../engine/threads/thread.ts';

export interface BenchTasks {
  readonly noop: { readonly input: number; readonly output: number };
}

const open = async (): Promise<Record<never, never>> => ({});

export default serveTasks<BenchTasks, null, Record<never, never>>(open, { noop: async (n) => n });
