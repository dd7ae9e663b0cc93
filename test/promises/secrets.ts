// Where secrets do not stand.

import type { PromiseRow } from '../promises.ts';

export const SECRETS: readonly PromiseRow[] = [
  {
    id: 'secrets-not-logged',
    promise: 'The log contains no secrets and no tokens.',
    heldBy: [
      {
        file: 'test/engine/runtime/log.test.ts',
        test: 'secrets are hidden wherever they stand, and all else is written as it is',
      },
      { file: 'test/http/kernel/pipeline/request-log.test.ts', test: 'no token gets into the log, wherever it stood' },
    ],
  },
  {
    id: 'secrets-not-shown',
    promise: 'Health, faults and the printed configuration contain no secrets.',
    heldBy: [
      { file: 'test/config/secrets.test.ts', test: 'no secret is printed' },
      { file: 'test/config/secrets.test.ts', test: 'no fault shows a secret, whatever is wrong with it' },
      { file: 'test/http/kernel/pipeline/ops.test.ts', test: 'health tells what is away, in our own words only' },
      {
        file: 'test/bin/compose/watch-dependencies.test.ts',
        test: 'the words of a foreign error, which may hold a password, are kept back',
      },
    ],
  },
  {
    id: 'secrets-of-up',
    promise: 'No log, answer, command output or process title of the running program contains a secret.',
    heldBy: [
      {
        file: 'test/e2e/secrets.test.ts',
        test: 'no secret stands in a log, an answer, the output of a command or a process title',
      },
    ],
  },
  {
    id: 'files-private',
    promise: 'Only the user of up can read its files with secrets; other users can read neither logs nor uploads.',
    heldBy: [
      {
        file: 'test/e2e/secrets.test.ts',
        test: 'files with secrets are their user’s alone, and others read nothing that people sent',
      },
    ],
  },
  {
    id: 'installed-files-private',
    promise: 'Other accounts of the machine can read no installed file, unless the configuration lets them.',
    heldBy: [
      { file: 'test/attack/private-files.test.ts', test: 'other accounts can read no file of a private dataset' },
      {
        file: 'test/actors/plugin-host/installed-tree.test.ts',
        test: 'other accounts read nothing of what a script installed, and nobody else writes it',
      },
    ],
  },
  {
    id: 'secrets-not-beside-scripts',
    promise: 'A script finds no secret in the environment or the command line of any process of the product.',
    heldBy: [
      {
        file: 'test/attack/script-surroundings.test.ts',
        test: 'a script sees no secret in the surroundings of the service and of the plugin host',
      },
      {
        file: 'test/attack/script-surroundings.test.ts',
        test: 'a script sees no secret in the surroundings of up',
      },
    ],
  },
  {
    id: 'data-role-alone',
    promise: 'A plugin host runs with the secret of the data role alone.',
    heldBy: [
      {
        file: 'test/config/deploy.test.ts',
        test: 'a plugin host takes the examples with the secret of the data role alone',
      },
    ],
  },
  {
    id: 'messages-say-no-inside',
    promise: 'No message to the owner of a dataset or a job contains an internal address or path.',
    heldBy: [
      { file: 'test/actors/lanes/public-words.test.ts', test: 'no message of the … lane says where things are inside' },
      { file: 'test/engine/runtime/owner-text.test.ts', test: 'where things are inside is not said' },
    ],
  },
  {
    id: 'errors-say-little',
    promise:
      'The answer to an unknown error contains only the id of the request, and the log has the error under that id.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'what a handler throws is answered by the table, and an unknown error says nothing',
      },
      {
        file: 'test/http/kernel/pipeline/request-log.test.ts',
        test: 'an unknown error is logged once, under the id that the caller is told',
      },
    ],
  },
  {
    id: 'open-doors-named',
    promise:
      'Every start warns about unverified certificates, missing tokens and a configuration file with secrets that everybody can read.',
    heldBy: [
      { file: 'test/bin/cli/config.test.ts', test: 'warnings go to the other stream' },
      { file: 'test/config/warnings.test.ts', test: 'open doors are named' },
    ],
  },
];
