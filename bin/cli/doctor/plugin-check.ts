// Checks a plugin server. A plugin host of Longshore answers /health with its status. Other plugin servers have no /health, but
// answer /service-info with their build, as the plugin protocol requires.

import type { PluginConfiguration } from '../../../config/configuration.ts';
import type { DependencyHealth } from '../../../http/kernel/pipeline/ops.ts';
import { type Check, type Findings, fault, hostPort, warning } from './check.ts';
import { networkFix } from './error-codes.ts';
import { httpAnswer } from './http-answer.ts';

export const pluginCheck = (key: string, { server }: PluginConfiguration, file: string): Check => ({
  name: `plugin ${key}`,
  where: hostPort(server),
  tried: 'GET /health',
  look: (signal) => look(`http://${hostPort(server)}`, key, signal),
  explain: (error) =>
    networkFix(error, {
      server: 'the plugin server',
      start: `it (longshore plugin --config ${file} --id ${key})`,
      key: `installer.plugins.${key}.server`,
    }) ?? `check installer.plugins.${key}.server: it does not respond to HTTP there`,
});

async function look(base: string, key: string, signal: AbortSignal): Promise<Findings> {
  const answer = await httpAnswer(`${base}/health`, 0, signal);
  const health = healthOf(answer.json);
  if (answer.status !== 200 || !health) {
    const built = builtFrom((await httpAnswer(`${base}/service-info`, 0, signal)).json);
    return built === undefined ? { problems: [stranger(key, answer.status)] } : { says: built, problems: [] };
  }
  const { version, status, unwell } = health;
  const says = `version ${version}`;
  if (status === 'healthy') return { says, problems: [] };
  const problem = status === 'degraded' ? warning : fault;
  return { says, problems: [problem(`it reports that it is ${status}: ${unwell.join('; ')}`, 'check its log')] };
}

const stranger = (key: string, status: number): Findings['problems'][number] =>
  fault(
    `it answers /health with ${status}, and neither /health nor /service-info like a plugin server`,
    `correct installer.plugins.${key}.server`,
  );

/** Undefined if this is not a plugin server's document. */
function builtFrom(json: unknown): string | undefined {
  const { manifest } = (json ?? {}) as { readonly manifest?: unknown };
  if (typeof manifest !== 'object' || manifest === null) return undefined;
  const { gitTag } = manifest as { readonly gitTag?: unknown };
  return `a third-party plugin server${typeof gitTag === 'string' ? `, ${gitTag}` : ''}; no further details`;
}

/** Undefined if this is not a health document. */
function healthOf(
  json: unknown,
): { readonly version: string; readonly status: string; readonly unwell: readonly string[] } | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { status, version, dependencies } = json as Record<string, unknown>;
  if (typeof status !== 'string' || !/^(healthy|degraded|unhealthy)$/.test(status)) return undefined;
  if (typeof version !== 'string' || !Array.isArray(dependencies)) return undefined;
  const unwell = (dependencies as readonly Partial<DependencyHealth>[]).flatMap(({ name, online, message }) =>
    online === 'yes' ? [] : [`${name}: ${message ?? online}`],
  );
  return { version, status, unwell };
}
