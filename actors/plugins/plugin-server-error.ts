// A plugin server that answered 500: an error on its side that may pass, but is not worth all attempts of a lane.

import { PLUGIN_FAULT_ATTEMPTS } from '../../engine/ports/plugin-client.ts';
import { type Failure, transient } from '../../engine/runtime/failure.ts';

export const pluginServerError = (plugin: string, message: string): Failure =>
  transient(`plugin ${plugin}: ${message}`, { maxAttempts: PLUGIN_FAULT_ATTEMPTS });
