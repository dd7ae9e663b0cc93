// `longshore sample-script`: one script of a sample plugin, as a process of its own. `longshore sample-scripts`: the resident
// process that runs those of small datasets. Launchers and `longshore up` start them, not people. Standard output of a script
// goes to the owner of the dataset, standard error to the operator.

import { runSample, scriptOf } from '../../config/samples/run-sample.ts';
import { EXIT, type InternalCommand, UsageError } from '../cli/command.ts';
import { SampleDatabases } from '../compose/sample-databases.ts';

export const sampleScript: InternalCommand = {
  async run(args, io) {
    const script = scriptOf(args);
    if (typeof script === 'string') throw new UsageError(script);
    await using databases = new SampleDatabases(1);
    const exit = await runSample(script.name, script.kind, script.args, process.stdin, {
      dataFiles: io.env.DATA_FILES ?? '',
      say: (line) => io.out(`${line}\n`),
      log: (line) => io.err(`${line}\n`),
      database: () => databases.of(io.env),
      signal: io.signal,
    });
    return exit === 99 ? EXIT.refusedData : exit;
  },
};

export const sampleScripts: InternalCommand = {
  async run([dir = '', ...requests], io) {
    const [{ SampleCalls }, { systemClock }] = await Promise.all([
      import('../compose/sample-calls.ts'),
      import('../../engine/runtime/time.ts'),
    ]);
    // Launchers whose scripts are cut off run them again.
    const exit = (): void => process.exit(EXIT.failed);
    process.once('disconnect', exit);
    io.signal.addEventListener('abort', exit);
    await new SampleCalls(dir, systemClock).serve(requests);
    process.off('disconnect', exit);
    process.disconnect?.();
    return EXIT.ok;
  },
};
