// Runs a service from its configuration to its end: waits for its dependencies, opens, starts, waits, then stops in reverse
// order. A second signal ends the process at once (bin/longshore.ts).

import type { Configuration } from '../../config/configuration.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Logger, LogThreshold } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { observeProcess } from '../../engine/runtime/process-metrics.ts';
import type { RecentLog } from '../../engine/runtime/recent-log.ts';
import { Scope } from '../../engine/runtime/scope.ts';
import { shutDown } from '../../engine/runtime/shutdown.ts';
import { Supervisor } from '../../engine/runtime/supervisor.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import type { RecentLogs } from '../../http/installer/admin/logs.ts';
import type { LocalSignIn } from '../../http/installer/console/console-routes.ts';
import { EXIT } from '../cli/command.ts';
import { secretsRemover } from '../cli/support-bundle/redaction.ts';
import { type Addresses, compose, type Service } from './compose.ts';
import { demandAddresses, listenersOf } from './listeners.ts';
import { LiveSettings } from './live-settings.ts';
import { Reloading, type SettingsFile } from './reloading.ts';
import { tunedBySignals } from './tuning-signals.ts';
import { vitalDependencies, waitForDependencies } from './wait-for-dependencies.ts';

interface ServiceOptions {
  readonly configuration: Configuration;
  /** The source of the configuration, for reloads. */
  readonly source: SettingsFile;
  /** The log's threshold. */
  readonly threshold: LogThreshold;
  readonly clock: Clock;
  readonly log: Logger;
  /** Gets the lines of the log as well. */
  readonly recent: RecentLog;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where mails are stored when no mail server is configured; undefined = they wait. */
  readonly mailDir?: string;
  /** Scratch space of this process only. */
  readonly scratchDir: string;
  /** How people sign in to the web console without a token issuer; undefined = not at all. */
  readonly signIn?: LocalSignIn | undefined;
  /** Children that start before all others and stop after them. */
  readonly first?: readonly ChildSpec[];
  /** Called once everything is up; the service ends if it rejects. */
  readonly ready: (addresses: Addresses, signal: AbortSignal) => Promise<void>;
  /** Rejects when something below the service ended, such as the embedded database. */
  readonly foundation?: Promise<never>;
  /** Closes what is below the service, after everything else. */
  readonly close?: () => Promise<void>;
}

/** Resolves with how it ended: `stopped` by the signal, or `broken` by its own failure. */
export async function runService(options: ServiceOptions, stop: AbortSignal): Promise<'stopped' | 'broken'> {
  const { clock, log, configuration, source, threshold, env, scratchDir, mailDir } = options;
  const metrics = new Metrics();
  const live = new LiveSettings(configuration, threshold);
  const settings = new Reloading(source, live, threshold, clock, log);
  using signals = tunedBySignals(settings, log, stop);
  const { signal } = signals;
  signal.addEventListener('abort', () => settings.end(), { once: true });
  await using scope = new Scope({ clock, log });
  scope.use('process metrics', observeProcess(metrics, clock));
  let service: Service;
  try {
    await demandAddresses(listenersOf(configuration));
    const vital = vitalDependencies(configuration, { clock, log });
    await waitForDependencies(vital, { waitMs: configuration.containerCore.startupWaitMs, clock, log }, signal);
    const redact = secretsRemover(source.document, []);
    const logs: RecentLogs = { find: (subject, limit) => options.recent.find(subject, limit, redact) };
    const parts = { clock, log, logs, metrics, env, scratchDir, mailDir, live, settings, signIn: options.signIn };
    service = await compose(configuration, parts, scope, signal);
  } catch (error) {
    if (signal.aborted) return 'stopped';
    throw error;
  }
  const children = [...(options.first ?? []), ...service.children];
  const tree = new Supervisor({ name: 'longshore', clock, log, metrics, children });
  service.watched(() => tree.statuses());
  try {
    await tree.start(signal);
    service.ready.set(true);
    settings.started();
    const broken: Promise<never>[] = [tree.broken, ...(options.foundation ? [options.foundation] : [])];
    await unlessAborted(Promise.race([options.ready(service.addresses(), signal), ...broken]), signal);
    await unlessAborted(Promise.race(broken), signal);
    return 'broken';
  } catch (error) {
    if (signal.aborted) return 'stopped';
    log.error({ err: error }, 'the service failed');
    throw error;
  } finally {
    settings.end();
    log.info({ reason: signal.aborted ? messageOf(signal.reason) : 'broken' }, 'shutting down');
    await shutDown(
      {
        process,
        child: tree,
        graceMs: configuration.containerCore.shutdownGraceMs,
        unready: () => service.ready.set(false),
        close: async () => {
          await scope[Symbol.asyncDispose]();
          await options.close?.();
        },
        clock,
        log,
      },
      signal.aborted ? EXIT.ok : EXIT.failed,
    );
  }
}
