// A plugin server: answers /health as a plugin host of Longshore does, and is well.

import type { PluginConfiguration } from '../../config/configuration.ts';
import { type Check, type Findings, fault, hostPort, warning } from './check.ts';
import { networkMend } from './error-codes.ts';
import { httpAnswer } from './http-answer.ts';

export const pluginCheck = (key: string, { server }: PluginConfiguration, file: string): Check => ({
  name: `plugin ${key}`,
  where: hostPort(server),
  tried: 'GET /health',
  look: (signal) => look(`http://${hostPort(server)}/health`, key, signal),
  explain: (error) =>
    networkMend(error, {
      server: 'the plugin server',
      start: `it (longshore plugin --config ${file} --id ${key})`,
      key: `installer.plugins.${key}.server`,
    }) ?? `check installer.plugins.${key}.server: it does not speak HTTP there`,
});

async function look(url: string, key: string, signal: AbortSignal): Promise<Findings> {
  const answer = await httpAnswer(url, 0, signal);
  const health = healthOf(answer.json);
  if (answer.status !== 200 || !health)
    return {
      problems: [
        fault(
          `it answers /health with ${answer.status} and not as a plugin host of Longshore does`,
          `correct installer.plugins.${key}.server, if it shall be one of ours`,
        ),
      ],
    };
  const { version, status, unwell } = health;
  const says = `version ${version}`;
  if (status === 'healthy') return { says, problems: [] };
  const problem = status === 'degraded' ? warning : fault;
  return { says, problems: [problem(`it says that it is ${status}: ${unwell.join('; ')}`, 'look into its log')] };
}

/** Undefined when it is no such document. */
function healthOf(
  json: unknown,
): { readonly version: string; readonly status: string; readonly unwell: readonly string[] } | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { status, version, dependencies } = json as Record<string, unknown>;
  if (typeof status !== 'string' || !/^(healthy|degraded|unhealthy)$/.test(status)) return undefined;
  if (typeof version !== 'string' || typeof dependencies !== 'object' || dependencies === null) return undefined;
  const unwell = Object.entries(dependencies).flatMap(
    ([name, is]: [string, { status?: unknown; message?: unknown }]) =>
      is?.status === 'healthy' ? [] : [`${name}: ${is?.message ?? is?.status}`],
  );
  return { version, status, unwell };
}
