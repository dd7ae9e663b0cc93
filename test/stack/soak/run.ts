// Hours of a whole installation in one: mixed load on several processes, and one fault after another. The last line is
// `N passed, N failed`.
//   node test/stack/soak/run.ts [--minutes N]     of load, 60 by default
//        .. [--seed N]                            what clients do, and which faults there are
//        .. [--every SECONDS]                     between faults, 30 by default
//        .. [--pause MS]                          between two requests of each of nine clients, on average; 1500 by default
//        .. [--figures FILE]                      as JSON

import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { mainOf, wholeNumber } from '../scale-out/main.ts';
import { Teardowns } from '../scale-out/teardowns.ts';
import { soak } from './soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    every: { type: 'string', default: '30' },
    pause: { type: 'string', default: '1500' },
    figures: { type: 'string' },
  },
});
const options = {
  minutes: wholeNumber('minutes', values.minutes),
  seed: wholeNumber('seed', values.seed),
  every: wholeNumber('every', values.every) * 1000,
  pauseMs: wholeNumber('pause', values.pause),
};

process.exitCode = await mainOf('longshore-soak-postgres-', async (stopped, findings) => {
  await using t = new Teardowns();
  const figures = await Promise.race([soak(t, options, findings), stopped]);
  if (values.figures !== undefined) await writeFile(values.figures, `${JSON.stringify(figures, null, 2)}\n`);
});
