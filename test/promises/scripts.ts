// What scripts and commands are given, and what they are kept from.

import type { PromiseRow } from '../promises.ts';

export const SCRIPTS: readonly PromiseRow[] = [
  {
    id: 'no-shell',
    promise: 'We start nothing through a shell, and each value is one argument.',
    heldBy: [
      { file: 'test/architecture.test.ts', test: 'no file starts a shell' },
      { file: 'test/http/handler/run-job.test.ts', test: 'the values of a job reach the command as one argument each' },
      { file: 'test/conformance/script-runner.ts', test: 'passes arguments as they are and collects both outputs' },
    ],
  },
  {
    id: 'script-streams',
    promise: 'The standard streams of a script are pipes, which it can open by name.',
    heldBy: [
      {
        file: 'test/engine/adapters/scripts/script-streams.test.ts',
        test: 'a script started … opens its streams by name',
      },
      {
        file: 'test/engine/adapters/scripts/script-streams.test.ts',
        test: 'input that has ended can be opened once more, and is at its end',
      },
    ],
  },
  {
    id: 'script-environment',
    promise: 'A script gets its own environment and nothing else, and an import script gets no password.',
    heldBy: [
      {
        file: 'test/conformance/script-runner.ts',
        test: 'gives the environment of the call and nothing else, and the workspace as folder',
      },
      {
        file: 'test/actors/plugin-host/plugin-host.test.ts',
        test: 'an import script finds its variables and no others',
      },
      {
        file: 'test/actors/report/report-run.test.ts',
        test: 'the formatter gets the result, its options and an environment of its own',
      },
    ],
  },
  {
    id: 'script-limits',
    promise:
      'A script ends at its maximum duration together with all processes that it started, and has the configured limits.',
    heldBy: [
      { file: 'test/conformance/script-runner.ts', test: 'ends a script at its longest duration' },
      {
        file: 'test/e2e/memory-scripts.test.ts',
        test: 'a script without an ear for SIGTERM is ended after its deadline, with all that it started',
      },
      {
        file: 'test/engine/adapters/scripts/script-runner.test.ts',
        test: 'a process that left the group is found by its variable and ended',
      },
      {
        file: 'test/engine/adapters/scripts/script-runner.test.ts',
        test: 'limits are set where there is a program for it',
      },
      {
        file: 'test/engine/adapters/scripts/script-runner.test.ts',
        test: 'scripts of a process that was killed are ended at the next start',
      },
    ],
  },
  {
    id: 'values-no-options',
    promise: 'No value that a user gives becomes an option of a command.',
    heldBy: [
      {
        file: 'test/engine/model/handler-job.test.ts',
        test: 'no value begins an argument with a dash, and the fault names the key and the value',
      },
      {
        file: 'test/attack/option-values.test.ts',
        test: 'a job whose values are options of tar is refused, and runs nothing',
      },
    ],
  },
  {
    id: 'script-output-bounded',
    promise: 'We keep the output of scripts up to a limit and count what we leave out.',
    heldBy: [
      { file: 'test/conformance/script-runner.ts', test: 'keeps the first 10,000 lines and says how many it left out' },
      { file: 'test/conformance/script-runner.ts', test: 'cuts long lines at 16 KiB and all of them at 4 MiB' },
    ],
  },
];
