// Settings of a process that answers what a test says.

import type { LogLevel } from '../../engine/model/log-level.ts';
import type { LevelChange, ProcessSettings, ReloadAnswer } from '../../engine/ports/process-control.ts';

const NOTHING: ReloadAnswer = { kind: 'reloaded', report: { applied: [], needsRestart: [], unchanged: 300 } };

export class FakeProcessSettings implements ProcessSettings {
  reload: ProcessSettings['reload'];
  logLevel: LogLevel = 'info';

  constructor(reload: ProcessSettings['reload'] = async () => NOTHING) {
    this.reload = reload;
  }

  setLogLevel(level: LogLevel = 'debug'): LevelChange {
    const from = this.logLevel;
    this.logLevel = level;
    return { from, to: level };
  }
}
