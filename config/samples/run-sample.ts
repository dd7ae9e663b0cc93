// Runs one script of a sample plugin as a program: takes arguments, writes lines, returns an exit code.

import { hasNoRoom, messageOf } from '../../engine/runtime/failure.ts';
import { Refusal, type SampleDependency, type SampleIo, type SamplePlugin, shown } from './sample.ts';
import { isSampleName, SAMPLE_NAMES, SAMPLES, type SampleName } from './samples.ts';

/** The arguments that the plugin host passes to each kind of script. */
const SCRIPT_KINDS = {
  import: ['INPUT_DIR', 'OUTPUT_DIR'],
  'check-compatibility': [],
  'install-data': ['DATASET_ID', 'DATA_DIR'],
  'install-meta': ['DATASET_ID', 'META_FILE', 'PROPERTIES_DIR'],
  uninstall: ['DATASET_ID'],
} as const;
export type ScriptKind = keyof typeof SCRIPT_KINDS;

const isScriptKind = (text: string): text is ScriptKind => Object.hasOwn(SCRIPT_KINDS, text);

/** A script and its arguments. */
export interface SampleScript {
  readonly name: SampleName;
  readonly kind: ScriptKind;
  readonly args: readonly string[];
}

/** @returns what is wrong, if these words name no script or its arguments are not as many as they must be */
export function scriptOf([name = '', kind = '', ...args]: readonly string[]): SampleScript | string {
  if (!isSampleName(name)) return `sample '${name}' must be one of ${SAMPLE_NAMES.join(', ')}`;
  if (!isScriptKind(kind)) return `script '${kind}' must be one of ${Object.keys(SCRIPT_KINDS).join(', ')}`;
  const expected = SCRIPT_KINDS[kind];
  if (args.length !== expected.length || args.includes(''))
    return `${kind} needs ${expected.length} arguments (${expected.join(' ')}), not ${args.length}`;
  return { name, kind, args };
}

/** Exit codes that the plugin host knows; any other is a script error. `later`: neither the data nor the script is at fault. */
export const SCRIPT_EXIT = { ok: 0, failed: 1, later: 75, refused: 99 } as const;
type ScriptExit = (typeof SCRIPT_EXIT)[keyof typeof SCRIPT_EXIT];

/** Runs the script. `stdin` is only read for dependencies. The number of `args` was checked. */
export async function runSample(
  name: SampleName,
  kind: ScriptKind,
  args: readonly string[],
  stdin: AsyncIterable<string | Buffer>,
  io: SampleIo,
): Promise<ScriptExit> {
  try {
    await runKind(await SAMPLES[name].load(), kind, args, stdin, io);
    return SCRIPT_EXIT.ok;
  } catch (error) {
    if (error instanceof Refusal) {
      for (const message of error.messages) io.say(message);
      return SCRIPT_EXIT.refused;
    }
    io.log(`${name} ${kind}: ${messageOf(error)}`);
    // The disk of the folders or of the database is full. The line above tells the operator which one.
    return hasNoRoom(error) ? SCRIPT_EXIT.later : SCRIPT_EXIT.failed;
  }
}

async function runKind(
  plugin: SamplePlugin,
  kind: ScriptKind,
  args: readonly string[],
  stdin: AsyncIterable<string | Buffer>,
  io: SampleIo,
): Promise<void> {
  const [first = '', second = '', third = ''] = args;
  switch (kind) {
    case 'import':
      return plugin.import(first, second, io);
    case 'check-compatibility':
      return plugin.checkCompatibility(await readDependencies(stdin), io);
    case 'install-data':
      return plugin.installData(first, second, io);
    case 'install-meta':
      return plugin.installMeta(first, second, third, io);
    case 'uninstall':
      return plugin.uninstall(first, io);
    default:
      return kind satisfies never;
  }
}

/** One line per dependency: identifier TAB version. */
async function readDependencies(stdin: AsyncIterable<string | Buffer>): Promise<readonly SampleDependency[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  for await (const chunk of stdin) text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  text += decoder.decode();
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const [identifier = '', version = ''] = line.split('\t').map((cell) => cell.trim());
    if (identifier === '' || version === '')
      throw new Refusal([`dependency ${shown(line)} must be an identifier, a tab and a version`]);
    return { identifier, version };
  });
}
