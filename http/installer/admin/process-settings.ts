// GET /admin/config: the running configuration of the process that answers. POST /admin/rpc/config/reload reloads its file; GET
// shows what that would change. GET /admin/rpc/log/level shows its log level, POST changes it until the next reload.

import type { Static } from 'typebox';
import { LOG_LEVELS, type LogLevel } from '../../../engine/model/log-level.ts';
import type {
  ProcessSettings,
  ReloadAnswer,
  ReloadReport,
  SettingFault,
} from '../../../engine/ports/process-control.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { type HttpError, invalidInput } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime } from '../dataset-terms.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';

const REFUSED = {
  ...ADMIN_REFUSALS,
  422: 'The file has faults, reported by key path as at startup; nothing was changed',
  503: 'The process ends',
};

const Value = (description: string) => Type.Union([Type.String(), Type.Number()], { description });
const SettingPath = Type.String({ description: 'Key path in the configuration file' });

const Reloaded = Type.Named('ReloadReport', {
  applied: Type.Array(
    Type.Object({ path: SettingPath, from: Value("What ran, in the file's words"), to: Value('What runs now') }),
    { description: 'Settings that were applied' },
  ),
  needsRestart: Type.Array(Type.Object({ path: SettingPath }), {
    description: 'Settings that differ from the running ones and need a restart; secrets are never shown',
  }),
  unchanged: Type.Integer({ minimum: 0, description: 'Number of unchanged settings' }),
});

const RunningConfiguration = Type.Named('RunningConfiguration', {
  file: Type.String(),
  generation: Type.Integer({ minimum: 1, description: '1 at the start, then one more with each reload' }),
  readAt: Datetime,
  settings: Type.Array(
    Type.Named('RunningSetting', {
      path: SettingPath,
      value: Type.Unknown({ description: 'As it is written in the file; secrets are `[hidden]`' }),
      live: Type.Optional(Type.String({ description: 'How a reload applies it; absent = it needs a restart' })),
      untilReload: Type.Optional(
        Type.Boolean({ description: 'True = an operator has set it since; the next reload takes it back' }),
      ),
    }),
    { description: 'All settings, with defaults' },
  ),
});
type RunningConfiguration = Static<typeof RunningConfiguration>;

const Level = Type.Enum([...LOG_LEVELS], { title: 'LogLevel' });
const LevelNow = Type.Named('LogLevelNow', { level: Level });
type LevelNow = Static<typeof LevelNow>;
const LevelChanged = Type.Named('LogLevelChanged', { from: Level, to: Level });
type LevelChanged = Static<typeof LevelChanged>;

interface ProcessSettingsOptions {
  readonly processSettings: ProcessSettings;
}

const RELOAD = '/admin/rpc/config/reload';

export function processSettingsRoutes({ processSettings }: ProcessSettingsOptions): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/admin/config',
      access: 'admin',
      operationId: 'showConfiguration',
      summary: 'Shows what the process that answers runs with, without secrets, and which settings a reload applies',
      responses: { 200: answer('The settings', RunningConfiguration), ...refusals(ADMIN_REFUSALS) },
      handler: (context) => context.json(200, runningView(processSettings)),
    },
    {
      method: 'GET',
      path: RELOAD,
      access: 'admin',
      operationId: 'compareConfiguration',
      summary: 'Shows what a reload would do now, without changing anything',
      responses: { 200: answer('What a reload would answer', Reloaded), ...refusals(REFUSED) },
      handler: async (context) => context.json(200, reportOf(await processSettings.compare(context.signal))),
    },
    {
      method: 'POST',
      servedWhenFull: true,
      path: RELOAD,
      access: 'admin',
      operationId: 'reloadConfiguration',
      summary:
        'Has the process that answers read its configuration file anew: it takes over what may change while it runs, and tells what needs a restart',
      responses: {
        200: answer('What became of each setting that differs', Reloaded),
        ...refusals(REFUSED),
      },
      handler: async (context) => context.json(200, reportOf(await processSettings.reload(context.signal))),
    },
    {
      method: 'GET',
      servedWhenFull: true,
      path: '/admin/rpc/log/level',
      access: 'admin',
      operationId: 'showLogLevel',
      summary: 'Shows the log level of the responding process',
      responses: { 200: answer('The level', LevelNow), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const now: LevelNow = { level: processSettings.logLevel };
        await context.json(200, now);
      },
    },
    {
      method: 'POST',
      servedWhenFull: true,
      path: '/admin/rpc/log/level',
      access: 'admin',
      operationId: 'setLogLevel',
      summary: 'Sets the log level of the responding process until its configuration is reloaded or it stops',
      query: {
        level: {
          description: 'Default: the next of info, debug, trace; then info again',
          schema: { type: 'string', enum: [...LOG_LEVELS] },
        },
      },
      responses: {
        200: answer('The level before, and now', LevelChanged),
        ...refusals({ ...ADMIN_REFUSALS, 400: 'No such level' }),
      },
      handler: async (context) => {
        // The query was validated against these levels.
        const level = context.query.level as LogLevel | undefined;
        const changed: LevelChanged = processSettings.setLogLevel(level);
        await context.json(200, changed);
      },
    },
  ];
}

function runningView(settings: ProcessSettings): RunningConfiguration {
  const { file, generation, readAt, settings: all } = settings.running();
  return {
    ...{ file, generation, readAt: readAt.toISOString() },
    settings: all.map(({ path, value, live, isOrdered }) => ({
      ...{ path, value },
      ...(live === undefined ? {} : { live }),
      ...(isOrdered ? { untilReload: true } : {}),
    })),
  };
}

function reportOf(outcome: ReloadAnswer): ReloadReport {
  if (outcome.kind === 'faulty') throw faulty(outcome.faults);
  return outcome.report;
}

function faulty(faults: readonly SettingFault[]): HttpError {
  const byKey: Record<string, string[]> = {};
  for (const { path, text } of faults) if (path !== '') byKey[path] = [...(byKey[path] ?? []), text];
  const general = faults.filter(({ path }) => path === '').map(({ text }) => text);
  return invalidInput('the configuration file has faults; nothing was changed', { general, byKey });
}
