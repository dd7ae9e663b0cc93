// Entry of the threads of plain Piscina: the same job as in lane-thread.ts.

export const noop = (n: number): number => n;
