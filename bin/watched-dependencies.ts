// What the installer service of a configuration uses beside itself, and how each is asked whether it answers.

import { PluginHttp } from '../engine/adapters/plugin-http.ts';
import type { HealthCheck } from '../http/ops.ts';
import { targetChecks, vitalChecks } from './installer-front-end.ts';
import type { Core } from './open-core.ts';
import type { ThreadData } from './thread-data.ts';

export const watchedDependencies = (
  core: Pick<Core, 'db' | 'store' | 'checks' | 'targetPools'>,
  plugins: ThreadData['plugins'],
): readonly HealthCheck[] => [...vitalChecks(core), ...core.checks, ...targetChecks(core), ...plugins.map(pluginCheck)];

/** Asks the server itself: the breakers know only what calls have met. */
const pluginCheck = (plugin: ThreadData['plugins'][number]): HealthCheck => ({
  name: `plugin ${plugin.key}`,
  vital: false,
  async probe(signal) {
    await using client = new PluginHttp(plugin);
    await client.probe(signal);
  },
});
