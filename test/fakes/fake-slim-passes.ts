// The place of the slim runs, in memory. Several processes may share one.

import type { SlimPass, SlimPasses } from '../../engine/ports/slim-passes.ts';

export class FakeSlimPasses implements SlimPasses {
  pass: SlimPass | undefined;

  load: SlimPasses['load'] = async (signal) => {
    signal.throwIfAborted();
    return this.pass;
  };

  save: SlimPasses['save'] = async (pass, signal) => {
    signal.throwIfAborted();
    this.pass = pass;
  };
}
