// Runs a suite on a machine that stalls: everything it started stands still for 1.5 s, every 8 s. See stall.ts.
//   npm run test:stalled -- --suite e2e [FILE ..]     what run/suite.ts takes
// Output and exit code are those of the suite.

import { join } from 'node:path';
import { systemClock } from '../../engine/runtime/time.ts';
import { runStalled } from './stall.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
const { code, stalls } = await runStalled(
  {
    program: process.execPath,
    args: [join(import.meta.dirname, 'suite.ts'), ...process.argv.slice(2)],
    everyMs: 8_000,
    stallMs: 1_500,
    graceMs: 30_000,
  },
  systemClock,
  stop.signal,
);
// The suite's last line is the one that scripts read.
console.error(`stalled ${stalls} times`);
process.exitCode = code;
