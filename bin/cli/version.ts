// The version of this program, as shown by health, service-meta and --version.

import { bundled, programFile } from '../../engine/runtime/program-files.ts';
import manifest from '../../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;

export interface BuiltVersion {
  readonly version: string;
  /** Of the sources of the single executable. */
  readonly commit?: string;
  readonly date?: string;
}

export async function builtVersion(): Promise<BuiltVersion> {
  if (!bundled) return { version: VERSION };
  const { commit, date } = JSON.parse(await programFile('build.json')) as { commit: string; date: string };
  return { version: VERSION, commit, date };
}

/** For people: the single executable tells what it was made of, too. */
export const versionText = ({ version, commit, date }: BuiltVersion): string =>
  commit === undefined ? version : `${version} (commit ${commit}, ${date})`;
