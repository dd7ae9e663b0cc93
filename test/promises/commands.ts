// What commands and configuration do, and what their pages say of them.

import type { PromiseRow } from '../promises.ts';

export const COMMANDS: readonly PromiseRow[] = [
  {
    id: 'demo',
    promise: 'The demo runs from a copy of the sources, and leaves nothing running.',
    heldBy: [
      { file: 'test/e2e/newcomer.test.ts', test: 'the demo runs from nothing but the sources, and Ctrl-C ends it' },
      {
        file: 'test/e2e/demo.test.ts',
        test: 'the demo ends with a dataset installed on two targets, says where, and leaves nothing running',
      },
    ],
  },
  {
    id: 'readme-commands',
    promise: 'The commands in the documentation work as printed.',
    heldBy: [
      {
        file: 'test/e2e/readme.test.ts',
        test: 'start, client commands, curl and handler jobs work as printed, and the picture shows what runs',
      },
      { file: 'test/e2e/access.test.ts', test: 'the commands of the README work as they stand there' },
      { file: 'test/command-blocks.test.ts', test: 'a block is run by the test that is named, or has a reason' },
    ],
  },
  {
    id: 'command-help',
    promise:
      'Help, completion, manual pages and the reference have every command, option, default and example, and fit on 80 columns.',
    heldBy: [
      {
        file: 'test/bin/cli/help.test.ts',
        test: 'a command shows its usage, every argument, every option with its default, and examples',
      },
      { file: 'test/bin/cli/help.test.ts', test: 'every line fits on a terminal of 80 columns' },
      {
        file: 'test/bin/commands/completion.test.ts',
        test: 'every option of every command is completed in every shell',
      },
      { file: 'test/bin/build/man-pages.test.ts', test: 'the program, every command and every group has a page' },
      {
        file: 'test/bin/build/command-reference.test.ts',
        test: 'docs/commands.md is up to date; npm run docs:commands writes it',
      },
    ],
  },
  {
    id: 'package-pages',
    promise: 'The Debian package has manual pages, completion, alert rules, and pages whose links work offline.',
    heldBy: [
      {
        file: 'test/bin/build/package-files.test.ts',
        test: 'every link of every page leads to a file of the package, and to a heading of it',
      },
      { file: 'test/bin/build/package-files.test.ts', test: 'it has what operators look for, where they look for it' },
      {
        file: 'test/binary/debian-package.test.ts',
        test: 'lintian has nothing to say that is not overridden with a reason',
      },
    ],
  },
  {
    id: 'launcher',
    promise: 'A checkout starts in any folder, and says what to do if Node.js is missing or too old.',
    heldBy: [
      { file: 'test/bin/longshore.test.ts', test: 'it starts in any folder, and through a link' },
      {
        file: 'test/bin/longshore.test.ts',
        test: 'a Node.js that is too old is a sentence: what is needed, what was found, what to do',
      },
    ],
  },
  {
    id: 'exit-codes',
    promise: 'Commands end with the documented exit codes, and an error says what to do next.',
    heldBy: [
      { file: 'test/e2e/command-line.test.ts', test: 'docs/operate.md has every exit code, and each is met' },
      { file: 'test/e2e/command-line.test.ts', test: 'a server that cannot answer at the moment is unreachable' },
      { file: 'test/e2e/command-line.test.ts', test: 'what to do next is said to users and administrators alike' },
    ],
  },
  {
    id: 'json-output',
    promise: 'With --json, a command prints JSON and nothing else.',
    heldBy: [
      {
        file: 'test/e2e/command-line.test.ts',
        test: 'every command that answers prints JSON, one document or one per line, and nothing else',
      },
    ],
  },
  {
    id: 'config-faults',
    promise:
      'A start reports all faults of the configuration at once, each with its place and the allowed values, and leaves nothing running.',
    heldBy: [
      {
        file: 'test/config/load.test.ts',
        test: 'all faults are reported at once, each with place, path, what was found and what is allowed',
      },
      {
        file: 'test/e2e/up.test.ts',
        test: 'an up whose configuration has a fault says which, and ends the database that it began to start',
      },
    ],
  },
  {
    id: 'config-secrets',
    promise: 'Secrets can come from variables and files, and a missing one is a fault, never an empty value.',
    heldBy: [
      { file: 'test/config/secrets.test.ts', test: 'a file gives its text without the last newline' },
      {
        file: 'test/config/secrets.test.ts',
        test: 'what cannot be expanded is a fault that names the placeholder, never a default',
      },
    ],
  },
  {
    id: 'config-reference',
    promise: 'The configuration reference matches the program: keys, bounds and defaults.',
    heldBy: [
      { file: 'test/config/reference.test.ts', test: 'the reference in the tree is the one that the schema gives' },
      { file: 'test/config/bounds.test.ts', test: 'the tables hold every bound of the schema' },
    ],
  },
  {
    id: 'sample-configurations',
    promise: 'The sample configurations for one machine and for three have no faults and no warnings.',
    heldBy: [
      { file: 'test/config/deploy.test.ts', test: 'the example for one machine is without faults and warnings' },
      { file: 'test/config/deploy.test.ts', test: 'the example for three machines is without faults and warnings' },
    ],
  },
  {
    id: 'ports-in-use',
    promise: 'A port in use ends the start before anything is ready, and its owner goes on.',
    heldBy: [
      {
        file: 'test/e2e/ports-in-use.test.ts',
        test: 'a second up on the ports of the first ends with exit code 1 before it is ready, and the first goes on',
      },
      { file: 'test/e2e/up.test.ts', test: 'one up per directory; a second start continues where the first stopped' },
    ],
  },
  {
    id: 'reload',
    promise: 'A reload applies live settings, names what needs a restart, and changes nothing if the file has a fault.',
    heldBy: [
      {
        file: 'test/bin/compose/reloading.test.ts',
        test: 'what may change is taken over, what may not is named, and both are logged',
      },
      {
        file: 'test/bin/compose/reloading.test.ts',
        test: 'a file with faults changes nothing and is told as a start would tell it',
      },
      {
        file: 'test/config/schema-node.test.ts',
        test: 'the table names every live setting, how it takes effect, and no other',
      },
    ],
  },
  {
    id: 'reload-loses-nothing',
    promise: 'Lanes shrink and grow under load without losing or repeating a job.',
    heldBy: [
      {
        file: 'test/engine/jobs/lane-resize.test.ts',
        test: 'however the bounds change, every job is done once and never more run than the bound lets begin',
      },
      {
        file: 'test/e2e/reload.test.ts',
        test: 'workers of a lane shrink from 10 to 2 and grow back under load, nothing is lost or done twice',
      },
    ],
  },
  {
    id: 'doctor',
    promise: 'doctor checks everything that the file names, and says what is wrong and how to fix it.',
    heldBy: [
      {
        file: 'test/e2e/doctor.test.ts',
        test: 'doctor finds nothing wrong with what up started, and says what is missing when it has ended',
      },
      {
        file: 'test/bin/cli/doctor/checks.test.ts',
        test: 'codes are found wherever they stand, and each has its fix',
      },
      {
        file: 'test/bin/cli/doctor/database-check.test.ts',
        test: 'a database that is missing is told with the SQL that makes it, and nothing is made',
      },
    ],
  },
];
