// The external dependencies of the configured installer service, each with its probe.

import type { PluginBreakers } from '../../actors/plugins/plugin-breakers.ts';
import { PluginHttp } from '../../engine/adapters/plugins/plugin-http.ts';
import { transient } from '../../engine/runtime/failure.ts';
import type { ChildStatus } from '../../engine/runtime/supervisor.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import { targetChecks, vitalChecks } from './installer-front-end.ts';
import type { Core } from './open-core.ts';
import type { ThreadData } from './thread-data.ts';

export const watchedDependencies = (
  core: Pick<Core, 'db' | 'store' | 'checks' | 'targetPools'>,
  plugins: ThreadData['plugins'],
): readonly HealthCheck[] => [...vitalChecks(core), ...core.checks, ...targetChecks(core), ...plugins.map(pluginCheck)];

/**
 * Plugin checks for /health: fail when calls get no response, or when nothing serves the plugin. Their messages are public, so
 * they do not contain the server's address.
 */
export const pluginChecks = (plugins: ThreadData['plugins'], breakers: PluginBreakers): readonly HealthCheck[] =>
  plugins.map((plugin) => {
    const { name, vital, probe } = pluginCheck(plugin);
    return {
      ...{ name, vital },
      async probe(signal) {
        breakers.check(plugin.key);
        await probe(signal).catch((cause: unknown) => {
          throw transient(`plugin ${plugin.key} is not reachable`, { unreachable: true, cause });
        });
      },
    };
  });

/** Lanes, daemons and front ends of this process: reports those that crashed until the supervisor has restarted them. */
export const partsCheck = (statuses: () => readonly ChildStatus[]): HealthCheck => ({
  name: 'lanes and daemons',
  vital: false,
  async probe() {
    const down = statuses().filter(({ state }) => state === 'down');
    if (down.length > 0) throw transient(`down: ${down.map(({ name }) => name).join(', ')}`);
  },
});

/** Probes the server itself: the breakers know only the results of calls. */
const pluginCheck = (plugin: ThreadData['plugins'][number]): HealthCheck => ({
  name: `plugin ${plugin.key}`,
  vital: false,
  async probe(signal) {
    await using client = new PluginHttp(plugin);
    await client.probe(signal);
  },
});
