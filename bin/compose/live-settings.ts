// What of the configuration changes while the program runs, each kind with the one who takes it over. Which settings these
// are is said in the schema (config/schema-node.ts); what else differs in a file waits for a restart.

import type { DaemonIntervals } from '../../actors/daemons/daemons.ts';
import type { LaneTuning, LaneTunings } from '../../actors/jobs/job-lane.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { LiveKind } from '../../config/schema-node.ts';
import { type CallTimes, changeTimes, shareTimes } from '../../engine/adapters/plugins/shared-times.ts';
import type { LaneBounds } from '../../engine/jobs/lane-options.ts';
import { LANES } from '../../engine/model/event.ts';
import { LiveSetting } from '../../engine/runtime/live-setting.ts';
import type { LogThreshold } from '../../engine/runtime/log.ts';

type Installer = Configuration['installer'];

export class LiveSettings {
  readonly lanes: LiveSetting<LaneTunings>;
  /** Undefined where the service is not configured; the same applies below. */
  readonly reportLane: LiveSetting<LaneBounds> | undefined;
  readonly daemonIntervals: LiveSetting<DaemonIntervals>;
  /** Milliseconds between runs that approve access requests. */
  readonly approvalMs: LiveSetting<number> | undefined;
  readonly historyRetentionMs: LiveSetting<number>;
  /** Milliseconds that a resumable upload waits. */
  readonly uploadExpiryMs: LiveSetting<number>;
  /** By the plugin's key; threads read them at each call. */
  readonly pluginTimes: ReadonlyMap<string, SharedArrayBuffer>;
  readonly #takers: Readonly<Record<LiveKind, (next: Configuration) => void>>;

  constructor({ containerCore, installer, report, access }: Configuration, threshold: LogThreshold) {
    this.lanes = new LiveSetting(laneTunings(installer));
    this.reportLane = report && new LiveSetting(laneBounds(report.lane));
    this.approvalMs = access && new LiveSetting(access.autoApproval.intervalMs);
    this.daemonIntervals = new LiveSetting<DaemonIntervals>(installer.daemons);
    this.historyRetentionMs = new LiveSetting(containerCore.history.retentionMs);
    this.uploadExpiryMs = new LiveSetting(installer.restService.resumableUploads.expiryMs);
    this.pluginTimes = new Map(
      Object.entries(installer.plugins).map(([key, plugin]) => [key, shareTimes(callTimes(plugin))]),
    );
    this.#takers = {
      'lane-bounds': ({ installer: next, report: reports }) => {
        this.lanes.set(withBounds(this.lanes.current, next));
        if (reports) this.reportLane?.set(laneBounds(reports.lane));
      },
      'daemon-interval': ({ installer: next, access: accesses }) => {
        this.daemonIntervals.set(next.daemons);
        if (accesses) this.approvalMs?.set(accesses.autoApproval.intervalMs);
      },
      'plugin-timeouts': (next) => this.#changeTimes(next.installer),
      'history-retention': (next) => this.historyRetentionMs.set(next.containerCore.history.retentionMs),
      'upload-expiry': ({ installer: next }) => this.uploadExpiryMs.set(next.restService.resumableUploads.expiryMs),
      'log-level': (next) => void threshold.set(next.containerCore.log.level),
    };
  }

  /** Applies the settings of these kinds only. */
  apply(kinds: ReadonlySet<LiveKind>, next: Configuration): void {
    for (const kind of kinds) this.#takers[kind](next);
  }

  /** A plugin that was added or removed waits for a restart. */
  #changeTimes({ plugins }: Installer): void {
    for (const [key, memory] of this.pluginTimes) {
      const plugin = plugins[key];
      if (plugin) changeTimes(memory, callTimes(plugin));
    }
  }
}

const callTimes = ({ timeouts }: Installer['plugins'][string]): CallTimes => ({
  connectMs: timeouts.connectMs,
  bodyIdleMs: timeouts.idleMs,
  marginMs: timeouts.replyMs,
});

type Bounds = Pick<Installer['lanes']['upload'], 'inMemoryQueueSize' | 'workerCount'>;

const laneBounds = ({ inMemoryQueueSize, workerCount }: Bounds): LaneBounds => ({
  queueSize: inMemoryQueueSize,
  workerCount,
});

const laneTuning = (lane: Installer['lanes']['upload']): LaneTuning => ({
  inMemoryQueueSize: lane.inMemoryQueueSize,
  workerCount: lane.workerCount,
  retry: { attempts: lane.retry.attempts, baseMs: lane.retry.baseMs, maxMs: lane.retry.maxMs },
});

const laneTunings = ({ lanes }: Installer): LaneTunings => ({
  softDelete: laneTuning(lanes.softDelete),
  upload: laneTuning(lanes.upload),
  import: laneTuning(lanes.import),
  updateMeta: laneTuning(lanes.updateMeta),
  install: laneTuning(lanes.install),
  sharing: laneTuning(lanes.sharing),
  reconciliation: laneTuning(lanes.reconciliation),
  hardDelete: laneTuning(lanes.hardDelete),
});

/** Retry settings stay as they are. */
function withBounds(now: LaneTunings, next: Installer): LaneTunings {
  const changed = { ...laneTunings(next) };
  for (const lane of LANES) changed[lane] = { ...changed[lane], retry: now[lane].retry };
  return changed;
}
