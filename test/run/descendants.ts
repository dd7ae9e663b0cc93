// The processes that one process started, and those that they started: its group, its descendants, and whoever was seen
// as one of them before its parent ended. Read from /proc, so Linux only.

import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '../../engine/runtime/time.ts';

const LOOK_MS = 10;
const LOOKS = 50;

interface ProcessRow {
  readonly pid: number;
  readonly name: string;
  readonly parent: number;
  readonly group: number;
  /** Of `ps`: T is stopped, Z is a zombie. */
  readonly state: string;
  /** A pid may be given anew; with this it is unique. */
  readonly started: string;
}

export class Descendants {
  readonly #leader: number;
  readonly #seen = new Map<number, string>();

  constructor(leader: number) {
    this.#leader = leader;
  }

  /** Stops all that run, parents first, until nobody is left who could fork; returns whom it stopped. */
  stop(): readonly number[] {
    const stopped: number[] = [];
    for (;;) {
      // A process that was told to stop may still show its old state.
      const running = this.#living().filter(({ pid, state }) => state !== 'T' && !stopped.includes(pid));
      if (running.length === 0) return stopped;
      for (const { pid } of running) if (told(pid, 'SIGSTOP')) stopped.push(pid);
    }
  }

  /** Resolves at once, unless there is somebody who has to be told twice. */
  static async continue(pids: readonly number[], clock: Clock): Promise<void> {
    for (const pid of pids) told(pid, 'SIGCONT');
    // `script` hears that its child was stopped, and stops itself as a shell's job would.
    const isStopping = ({ pid, name }: ProcessRow): boolean => name === 'script' && pids.includes(pid);
    for (const { pid } of processes().filter(isStopping))
      for (let looks = 0; looks < LOOKS; looks++) {
        await clock.sleep(LOOK_MS);
        if (processes().some((row) => row.pid === pid && row.state === 'T') && told(pid, 'SIGCONT')) break;
      }
  }

  signalGroup(signal: NodeJS.Signals): void {
    told(-this.#leader, signal);
  }

  kill(): void {
    for (const { pid } of this.#living()) told(pid, 'SIGKILL');
  }

  #living(): readonly ProcessRow[] {
    const rows = processes();
    const found = new Set<number>();
    for (const { pid, group, started } of rows)
      if (pid === this.#leader || group === this.#leader || this.#seen.get(pid) === started) found.add(pid);
    // Children of what was found, until a round finds no more.
    for (let before = -1; before !== found.size; ) {
      before = found.size;
      for (const { pid, parent } of rows) if (found.has(parent)) found.add(pid);
    }
    this.#seen.clear();
    const living = rows.filter(({ pid }) => found.has(pid));
    for (const { pid, started } of living) this.#seen.set(pid, started);
    return living;
  }
}

function processes(): readonly ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'utf8');
        // The name may hold spaces and brackets: fields are counted from its end.
        const [state = '', parent, group, ...more] = text.slice(text.lastIndexOf(')') + 2).split(' ');
        if (state === 'Z' || state === 'X') return [];
        const ids = { pid: Number(name), parent: Number(parent), group: Number(group) };
        return [
          { ...ids, name: text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')), state, started: more[16] ?? '' },
        ];
      } catch {
        return []; // ended meanwhile
      }
    });
}

/** False when it ended meanwhile. */
function told(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
