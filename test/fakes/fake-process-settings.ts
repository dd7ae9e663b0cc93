// Settings of a process that answers what a test says.

import type { LogLevel } from '../../engine/model/log-level.ts';
import type {
  LaneSizes,
  LevelChange,
  ProcessSettings,
  ReloadAnswer,
  RunningConfiguration,
  SizingAnswer,
} from '../../engine/ports/process-control.ts';

const NOTHING: ReloadAnswer = { kind: 'reloaded', report: { applied: [], needsRestart: [], unchanged: 300 } };

export class FakeProcessSettings implements ProcessSettings {
  reload: ProcessSettings['reload'];
  logLevel: LogLevel = 'info';
  configuration: RunningConfiguration = {
    ...{ file: '/etc/longshore.yaml', generation: 1, readAt: new Date(0) },
    settings: [{ path: 'containerCore.log.level', value: 'info', live: 'applies immediately', isOrdered: false }],
  };
  sized: SizingAnswer = { kind: 'sized', applied: [] };
  readonly sizes: (readonly [lane: string, sizes: LaneSizes])[] = [];

  constructor(reload: ProcessSettings['reload'] = async () => NOTHING) {
    this.reload = reload;
  }

  compare(signal: AbortSignal): Promise<ReloadAnswer> {
    return this.reload(signal);
  }

  running(): RunningConfiguration {
    return this.configuration;
  }

  sizeLane(lane: string, sizes: LaneSizes): SizingAnswer {
    this.sizes.push([lane, sizes]);
    return this.sized;
  }

  setLogLevel(level: LogLevel = 'debug'): LevelChange {
    const from = this.logLevel;
    this.logLevel = level;
    return { from, to: level };
  }
}
