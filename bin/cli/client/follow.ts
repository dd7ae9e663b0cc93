// Follows a dataset for the caller of a command. On a terminal it redraws the steps in place; otherwise it prints a line per
// change, or a JSON document per change with `--json`.

import { parseDuration } from '../../../engine/runtime/duration.ts';
import { Failure } from '../../../engine/runtime/failure.ts';
import { type Clock, deadline, systemClock } from '../../../engine/runtime/time.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../command.ts';
import { LiveLines } from '../terminal/screen.ts';
import { displayWidth, padTo } from '../terminal/table.ts';
import { duration, jsonLine, oneLine } from '../terminal/text.ts';
import {
  type DatasetProgress,
  type Ending,
  progressLine,
  stepName,
  type Watcher,
  watchDataset,
} from './dataset-progress.ts';
import type { InstallerClient } from './installer-client.ts';

export interface FollowValues {
  /** Prints each change as a JSON document on standard output; the last one has the ending. */
  readonly json?: boolean | undefined;
  /** Prints nothing. */
  readonly quiet?: boolean | undefined;
  /** For example `10m`. Fails if the dataset has not ended by then. */
  readonly deadline?: string | undefined;
}

type FollowIo = Pick<CommandIo, 'out' | 'err' | 'errTerminal'>;

/** Milliseconds; undefined without a deadline. Called before anything is sent. */
export function deadlineOf({ deadline: text }: FollowValues): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined) throw new UsageError(`--deadline '${text}': must be a duration such as 90s or 10m`);
  return ms;
}

/** Resolves with the ending. Rejects at the deadline, and like {@link watchDataset}. */
export async function follow(
  client: Pick<InstallerClient, 'show'>,
  dataset: string,
  values: FollowValues,
  io: FollowIo,
  clock: Clock,
  signal: AbortSignal,
): Promise<Ending> {
  using watcher = watcherFor(dataset, values, io, clock);
  const ms = deadlineOf(values);
  if (ms === undefined) return await watchDataset(client, dataset, watcher, clock, signal);
  const late = (): Failure => new Failure('transient', `${dataset}: not finished within ${values.deadline}`);
  using limit = deadline(clock, ms, signal, late);
  return await watchDataset(client, dataset, watcher, clock, limit.signal);
}

/** Prints the id of the dataset that was uploaded and, with `--watch`, follows it. */
export async function finishUpload(
  client: Pick<InstallerClient, 'show'>,
  dataset: string,
  values: FollowValues & { readonly watch: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  io.out(values.json ? jsonLine({ datasetId: dataset }) : `${oneLine(dataset)}\n`);
  if (!values.watch) return EXIT.ok;
  const ending = await follow(client, dataset, values, io, systemClock, io.signal);
  return ending === 'installed' ? EXIT.ok : EXIT.failed;
}

function watcherFor(dataset: string, values: FollowValues, io: FollowIo, clock: Clock): Watcher & Disposable {
  if (values.json) {
    return {
      changed: (progress) => io.out(jsonLine({ datasetId: dataset, of: progress.steps.length, ...progress })),
      away: (unreachable) => io.out(jsonLine({ datasetId: dataset, unreachable })),
      [Symbol.dispose]() {},
    };
  }
  if (values.quiet) return { changed() {}, away() {}, [Symbol.dispose]() {} };
  if (io.errTerminal) return drawing(new LiveLines(io.errTerminal), io, clock);
  return {
    changed: (progress) => io.err(`${progress.done}/${progress.steps.length} ${oneLine(progressLine(progress))}\n`),
    away: (reason) => io.err(`no response, retrying: ${oneLine(reason)}\n`),
    [Symbol.dispose]() {},
  };
}

function drawing(lines: LiveLines, io: FollowIo, clock: Clock): Watcher & Disposable {
  const begun = clock.now();
  let last: DatasetProgress | undefined;
  const draw = (note: string): void => {
    const took = duration((clock.now() - begun) / 1_000);
    if (last) lines.draw([...stepLines(last), `${bar(last)}  ${note || took}`]);
  };
  let cancel = (): void => {};
  const tick = (): void => {
    cancel = clock.after(1_000, () => {
      draw('');
      tick();
    });
  };
  return {
    changed(progress) {
      cancel();
      last = progress;
      draw(progress.ending ? `${progress.ending} after ${duration((clock.now() - begun) / 1_000)}` : '');
      if (!progress.ending) return tick();
      lines.end();
      // The steps were truncated to the terminal's width, so error messages are printed again in full.
      if (progress.ending !== 'installed')
        for (const step of progress.steps)
          for (const message of step.messages) io.err(`${stepName(step)}: ${oneLine(message)}\n`);
    },
    away(reason) {
      cancel();
      draw(`no response, retrying: ${oneLine(reason)}`);
    },
    [Symbol.dispose]() {
      cancel();
      lines.end();
    },
  };
}

/** One line per step. */
function stepLines({ steps }: DatasetProgress): readonly string[] {
  const names = steps.map((step) => oneLine(stepName(step)));
  const width = Math.max(...names.map(displayWidth));
  const statuses = Math.max(...steps.map(({ status }) => status.length));
  return steps.map(({ status, messages }, at) =>
    `${padTo(width, names[at] ?? '')}  ${status.padEnd(statuses)}  ${oneLine(messages.join('; '))}`.trimEnd(),
  );
}

const WIDTH = 24;

function bar({ done, steps }: DatasetProgress): string {
  const filled = Math.round((done / steps.length) * WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${done}/${steps.length}`;
}
