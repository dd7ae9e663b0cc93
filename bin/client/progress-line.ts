// Progress for people: one bar that redraws itself on a terminal, a line per change elsewhere.

import type { CommandIo } from '../command.ts';
import type { Progress } from './watch-dataset.ts';

const WIDTH = 24;

export function progressTeller(io: Pick<CommandIo, 'err' | 'errTerminal'>): (progress: Progress) => void {
  return (progress) => {
    const filled = Math.round((progress.done / progress.steps) * WIDTH);
    const bar = `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${progress.done}/${progress.steps}`;
    if (!io.errTerminal) io.err(`${progress.done}/${progress.steps} ${progress.text}\n`);
    else io.err(`\r\u001b[2K${bar} ${progress.text}${progress.ending ? '\n' : ''}`);
  };
}
