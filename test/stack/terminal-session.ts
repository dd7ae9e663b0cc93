// A shell on a real terminal (tmux): keys are typed into it, what it shows is read. Waiting is looking again until a
// deadline: a terminal announces nothing.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT } from '../support/longshore.ts';

const execute = promisify(execFile);
const LOOK_MS = 50;
const PATIENCE_MS = 60_000;

interface Teardown {
  teardown(fn: () => unknown): void;
}

export class TerminalSession {
  readonly #socket: string;

  /** A shell in which `longshore` is this program; its prompt is `$ `. Ended with the test. */
  static async open(t: Teardown, columns: number, rows: number): Promise<TerminalSession> {
    const session = new TerminalSession(`longshore-test-${randomBytes(6).toString('hex')}`);
    t.teardown(() => session.#tmux('kill-server').catch(() => undefined));
    const size = ['-x', String(columns), '-y', String(rows)];
    const shell = ['env', 'PS1=$ ', 'LC_ALL=C.UTF-8', 'NO_COLOR=1', 'HISTFILE=', 'bash', '--norc', '--noprofile'];
    await session.#tmux('new-session', '-d', ...size, shell.map((word) => `'${word}'`).join(' '));
    await session.until(/^\$ $/m);
    await session.type(`longshore() { '${process.execPath}' '${join(ROOT, 'bin', 'longshore.ts')}' "$@"; }; clear`);
    await session.until(/^\$ $/m);
    return session;
  }

  private constructor(socket: string) {
    this.#socket = socket;
  }

  /** A line, with Enter. */
  async type(line: string): Promise<void> {
    await this.#tmux('send-keys', '-l', line);
    await this.key('Enter');
  }

  /** A key by tmux's name of it, such as `q` or `C-c`. */
  async key(name: string): Promise<void> {
    await this.#tmux('send-keys', name);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux('resize-window', '-x', String(columns), '-y', String(rows));
  }

  /** What can be seen, a prompt with its blank. */
  async screen(): Promise<string> {
    const text = await this.#tmux('capture-pane', '-p');
    return text.replace(/^\$$/gm, '$ ').trimEnd().replace(/\$$/, '$ ');
  }

  /** What can be seen once it matches; rejects with what is seen instead after a minute. */
  async until(pattern: RegExp): Promise<string> {
    for (const begun = Date.now(); ; ) {
      const seen = await this.screen();
      if (pattern.test(seen)) return seen;
      if (Date.now() - begun > PATIENCE_MS) throw new Error(`${pattern} is not on the terminal:\n${seen}`);
      await setTimeout(LOOK_MS);
    }
  }

  /** To the program that the shell runs. */
  async signal(name: NodeJS.Signals): Promise<void> {
    const shell = (await this.#tmux('list-panes', '-F', '#{pane_pid}')).trim();
    const children = (await readFile(`/proc/${shell}/task/${shell}/children`, 'utf8')).trim().split(' ');
    if (children.length !== 1) throw new Error(`the shell runs ${children.length} programs`);
    process.kill(Number(children[0]), name);
  }

  async #tmux(...args: readonly string[]): Promise<string> {
    return (await execute('tmux', ['-L', this.#socket, '-f', '/dev/null', ...args])).stdout;
  }
}
