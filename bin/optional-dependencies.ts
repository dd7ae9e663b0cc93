// What a service of this configuration can do without for a while: asked once at start, for the log.

import { PluginHttp } from '../engine/adapters/plugin-http.ts';
import type { HealthCheck } from '../http/ops.ts';
import { targetChecks } from './installer-front-end.ts';
import type { Core } from './open-core.ts';
import type { ThreadData } from './thread-data.ts';

export const optionalDependencies = (
  core: Pick<Core, 'checks' | 'targetPools'>,
  plugins: ThreadData['plugins'],
): readonly HealthCheck[] => [...core.checks, ...targetChecks(core), ...plugins.map(pluginCheck)];

/** Asks the server itself: the breakers know only what calls have met. */
const pluginCheck = (plugin: ThreadData['plugins'][number]): HealthCheck => ({
  name: `plugin ${plugin.key}`,
  vital: false,
  async probe(signal) {
    await using client = new PluginHttp(plugin);
    await client.probe(signal);
  },
});
