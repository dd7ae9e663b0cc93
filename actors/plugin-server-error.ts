// A plugin server that answered 500: its own fault, which may pass, but not worth all tries of a lane.

import { Failure } from '../engine/failure.ts';
import type { FewTries } from './job-outcome.ts';

const MAX_TRIES = 3;

class PluginServerError extends Failure implements FewTries {
  readonly maxTries = MAX_TRIES;
}

export function pluginServerError(plugin: string, message: string): Failure {
  return new PluginServerError('transient', `plugin ${plugin}: ${message}`);
}
