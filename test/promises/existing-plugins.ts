// What plugins of existing installers need: their scripts, their servers, and the people who write them.

import type { PromiseRow } from '../promises.ts';

export const EXISTING_PLUGINS: readonly PromiseRow[] = [
  {
    id: 'script-pipes',
    promise: 'The standard streams of scripts are pipes, which a script may open by name.',
    heldBy: [
      {
        file: 'test/engine/adapters/scripts/script-streams.test.ts',
        test: 'a script started … opens its streams by name',
      },
      { file: 'test/engine/adapters/scripts/script-streams.test.ts', test: 'a script started … has pipes' },
    ],
  },
  {
    id: 'kept-for-uninstall',
    promise: 'Whatever a failed or killed install left in its folder is there for its uninstall.',
    heldBy: [
      {
        file: 'test/actors/plugin-host/in-place-install.test.ts',
        test: 'what a failed install left stays, and its uninstall finds it',
      },
      {
        file: 'test/actors/plugin-host/in-place-install.test.ts',
        test: 'a host that is killed at any step of an install or an uninstall can uninstall afterwards',
      },
      {
        file: 'test/e2e/compatible-plugins.test.ts',
        test: 'an install that fails after its first commit is uninstalled with its dataset',
      },
      {
        file: 'test/e2e/compatible-plugins.test.ts',
        test: 'three kills in a row, in an install, in its uninstall and in the next install, leave nothing',
      },
    ],
  },
  {
    id: 'known-metadata',
    promise: 'Plugin servers get metadata as compact JSON, with the fields that they know and no others.',
    heldBy: [
      {
        file: 'test/engine/adapters/plugins/plugin-client-strict.test.ts',
        test: 'a plugin server that refuses unknown fields takes every call about a public dataset',
      },
      {
        file: 'test/engine/adapters/plugins/plugin-client-strict.test.ts',
        test: 'what fits into 16 KiB without blanks is not sent with more',
      },
    ],
  },
  {
    id: 'host-room',
    promise: 'Lanes never ask more of their own plugin host than it has room for.',
    heldBy: [
      {
        file: 'test/actors/plugins/room-first-hosted.test.ts',
        test: 'no more calls are on their way than the own host takes, and they begin in turn',
      },
      {
        file: 'test/e2e/compatible-plugins.test.ts',
        test: 'lanes with more workers than the own host runs scripts are never refused by it',
      },
    ],
  },
  {
    id: 'told-to-authors',
    promise: "What an import script left and may not leave is told with what the plugin's author has to change.",
    heldBy: [
      {
        file: 'test/actors/plugin-host/plugin-host.test.ts',
        test: 'an import that ends badly says how, and what the author of the plugin has to change',
      },
    ],
  },
];
