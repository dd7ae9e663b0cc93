// Entry of the threads of plain Piscina: the same jobs as in lane-thread.ts.

export { digest, noop } from './fixed-work.ts';
