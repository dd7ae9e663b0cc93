// `longshore top`: shows the state of a running server periodically until q, Ctrl-C or SIGTERM. If the server becomes
// unavailable, that is shown and polling continues; if it never responded, the command fails.

import { parseDuration } from '../../engine/runtime/duration.ts';
import { aborted, Failure, messageOf } from '../../engine/runtime/failure.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { implement } from '../cli/arguments.ts';
import { adminAccess } from '../cli/client/client-options.ts';
import { type Command, type CommandIo, EXIT, type ExitCode, UsageError } from '../cli/command.ts';
import { Screen } from '../cli/terminal/screen.ts';
import type { Terminal } from '../cli/terminal/terminal.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/text.ts';
import { type Away, frameOf, type Overview, overviewOf } from '../cli/top/overview.ts';
import { type Reading, type ReadingSource, read } from '../cli/top/reading.ts';
import { TOP } from '../cli/tree/administration.ts';

const QUIT = ['q', 'Q', '\u0003', '\u0004'];

export const top: Command = implement(TOP, async ({ values }, io) => {
  const intervalMs = millisecondsOf(values.interval);
  const source = await adminAccess(values, io);
  const look = () => looking(source, intervalMs, io.signal);
  if (values.once) return await once(look(), values.json, io);
  if (values.json) return await lines(look(), io);
  if (!io.outTerminal) throw new UsageError('standard output is not a terminal: use --once or --json');
  return await live(source, io.outTerminal, intervalMs, io);
});

/** The result of one poll: an overview, or why there was no response. Rejects if the first poll fails. */
type Looks = AsyncGenerator<{ readonly overview: Overview } | { readonly away: string }, void>;

async function* looking(source: ReadingSource, intervalMs: number, signal: AbortSignal): Looks {
  let before: Reading | undefined;
  for (;;) {
    try {
      const now = await read(source, before, systemClock, signal);
      yield { overview: overviewOf(source.server, before, now) };
      before = now;
    } catch (error) {
      if (signal.aborted || !before || !(error instanceof Failure) || error.kind === 'defect') throw error;
      yield { away: messageOf(error) };
    }
    await systemClock.sleep(intervalMs, signal);
  }
}

/** Rates need two readings, so the second one is printed. */
async function once(look: Looks, asJson: boolean, io: CommandIo): Promise<ExitCode> {
  await look.next();
  const { value } = await look.next();
  if (!value || !('overview' in value))
    throw new Failure('transient', value?.away ?? 'no response', { unreachable: true });
  const frame = frameOf(value.overview, undefined, io.outTerminal?.columns());
  io.out(asJson ? jsonDocument(value.overview) : frame.map(({ text }) => `${text}\n`).join(''));
  return EXIT.ok;
}

async function lines(look: Looks, io: CommandIo): Promise<ExitCode> {
  try {
    for await (const found of look)
      io.out(jsonLine('overview' in found ? found.overview : { unreachable: found.away }));
  } catch (error) {
    if (!io.signal.aborted) throw error;
  }
  return EXIT.ok;
}

async function live(source: ReadingSource, terminal: Terminal, intervalMs: number, io: CommandIo): Promise<ExitCode> {
  const quit = new AbortController();
  const signal = AbortSignal.any([io.signal, quit.signal]);
  const look = looking(source, intervalMs, signal);
  // The first poll may fail; that error must appear on the normal screen.
  const first = await look.next();
  using screen = new Screen(terminal);
  const giveBack = (): void => screen[Symbol.dispose]();
  // A second signal ends the process without reaching the `finally` below.
  process.once('exit', giveBack);
  const silence = io.keyboard?.()?.onKey((key) => {
    if (QUIT.includes(key)) quit.abort(aborted('quit'));
  });
  let overview: Overview | undefined;
  let away: Away | undefined;
  try {
    for (let found = first; !found.done; found = await look.next()) {
      if ('overview' in found.value) [overview, away] = [found.value.overview, undefined];
      else away = { since: away?.since ?? new Date(systemClock.now()), reason: found.value.away };
      if (overview)
        screen.draw([...frameOf(overview, away, terminal.columns()), { text: '' }, { text: 'q quits', style: 'dim' }]);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    silence?.();
    process.off('exit', giveBack);
  }
  return EXIT.ok;
}

function millisecondsOf(text: string): number {
  const ms = parseDuration(text) ?? Number(text) * 1_000;
  if (!(ms >= 100 && ms <= 3_600_000))
    throw new UsageError(`--interval '${text}': must be from 0.1 to 3600 seconds, or a duration such as 500ms or 1m`);
  return ms;
}
