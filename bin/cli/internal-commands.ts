// Commands that the launchers of the sample plugins start, not people. They are not in the command tree, whose
// texts would only delay a script.

import type { InternalCommand } from './command.ts';

export const INTERNAL: Readonly<Record<string, () => Promise<InternalCommand>>> = {
  'sample-script': async () => (await import('../commands/sample-script.ts')).sampleScript,
  'sample-scripts': async () => (await import('../commands/sample-script.ts')).sampleScripts,
};
