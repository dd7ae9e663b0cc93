// The version of this program, as shown by health, service-meta and --version.

import { bundled, programFile } from '../../engine/runtime/program-files.ts';
import manifest from '../../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;

/** For people: the single executable tells what it was made of, too. */
export async function versionText(): Promise<string> {
  if (!bundled) return VERSION;
  const { commit, date } = JSON.parse(await programFile('build.json')) as { commit: string; date: string };
  return `${VERSION} (commit ${commit}, ${date})`;
}
