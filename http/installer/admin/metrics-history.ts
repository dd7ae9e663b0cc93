// GET /admin/metrics/history: the last 24 hours of the main numbers of the process that answers.

import type { Static } from 'typebox';
import type { HistoryPoints, HistoryRange } from '../../../engine/runtime/metrics-history.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { quote } from '../../kernel/input/describe.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime } from '../dataset-terms.ts';
import { ADMIN_REFUSALS, askedMoment, momentParameter } from './admin-route.ts';

const History = Type.Named('MetricsHistory', {
  from: Datetime,
  step: Type.Integer({ minimum: 1, description: 'Seconds from one value to the next' }),
  names: Type.Array(Type.String(), { description: 'All series of this process' }),
  series: Type.Record(Type.String(), Type.Array(Type.Union([Type.Number(), Type.Null()])), {
    description: 'Averages by series, oldest first; null where nothing was sampled',
  }),
});
type History = Static<typeof History>;

export interface HistorySource {
  readonly names: readonly string[];
  read(name: string, range: HistoryRange): HistoryPoints | undefined;
}

interface MetricsHistoryOptions {
  /** Of the process that answers. */
  readonly history: HistorySource;
  readonly clock: Clock;
}

const DAY_MS = 86_400_000;
const DEFAULT_MS = 3_600_000;
const DEFAULT_POINTS = 240;
/** Bounds a response to a few hundred kilobytes. */
const MAX_VALUES = 40_000;
const MIN_STEP = 15;

export function metricsHistoryRoute({ history, clock }: MetricsHistoryOptions): Route {
  return {
    method: 'GET',
    path: '/admin/metrics/history',
    access: 'admin',
    operationId: 'readMetricsHistory',
    summary: 'Shows the last 24 hours of the main numbers of the process that answers',
    query: {
      series: {
        description:
          'Names, separated by commas; one that ends with a dot means all that begin so. Default: only names',
        schema: { type: 'string', minLength: 1, maxLength: 4_000 },
      },
      from: momentParameter('Begin, in UTC: a date, or a longer part of 2026-01-02T03:04:05; default: an hour ago'),
      step: {
        description: 'Seconds from one value to the next; default: 240 values',
        schema: { type: 'integer', minimum: MIN_STEP, maximum: DAY_MS / 1_000 },
      },
    },
    responses: {
      200: answer('Values of the series', History),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid, or asks for too many values' }),
    },
    handler: async (context) => {
      const { query } = context;
      const toMs = clock.now();
      const fromMs = Math.max(toMs - DAY_MS, askedMoment('from', query.from)?.getTime() ?? toMs - DEFAULT_MS);
      if (fromMs >= toMs)
        throw badRequest("query parameter 'from' is in the future; expected a time of the last 24 hours");
      const step = typeof query.step === 'number' ? query.step : stepOf(toMs - fromMs);
      const names = query.series === undefined ? [] : chosen(String(query.series), history.names);
      const values = names.length * Math.ceil((toMs - fromMs) / 1_000 / step);
      if (values > MAX_VALUES)
        throw badRequest(
          `these are ${values} values; expected at most ${MAX_VALUES}: use a longer step, or fewer series`,
        );
      const range = { fromMs, toMs, stepMs: step * 1_000 };
      const series = names.map((name): [string, (number | null)[]] => [name, [...(history.read(name, range) ?? [])]]);
      const shown: History = {
        from: new Date(fromMs).toISOString(),
        step,
        names: [...history.names],
        series: Object.fromEntries(series),
      };
      await context.json(200, shown);
    },
  };
}

const stepOf = (ms: number): number => Math.max(MIN_STEP, Math.ceil(ms / 1_000 / DEFAULT_POINTS));

/** The series that `asked` names. Throws 400 for a name that no series has or begins with. */
function chosen(asked: string, names: readonly string[]): readonly string[] {
  const found = asked.split(',').flatMap((word) => {
    const matching = names.filter((name) => (word.endsWith('.') ? name.startsWith(word) : name === word));
    if (matching.length === 0)
      throw badRequest(`query parameter 'series' names ${quote(word)}, which no series is or begins with`);
    return matching;
  });
  return [...new Set(found)];
}
