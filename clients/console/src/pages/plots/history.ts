// The recent history of the numbers of the process that answers, and what happened meanwhile.

import { readMetrics } from '../../api/metrics.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { texts } from '../../texts.ts';

const words = texts.plots;
/** With all 256 series below what the server answers at once. */
const POINTS = 150;
/** The server's own sampling. */
const SHORTEST_STEP = 15;
/** Of each kind. */
const MOST_EVENTS = 100;

export interface Happening {
  /** Seconds since 1970. */
  readonly at: number;
  readonly text: string;
}

export interface History {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: Schemas['MetricsHistory']['series'];
  readonly happenings: readonly Happening[];
}

export async function loadHistory(hours: number, signal: AbortSignal): Promise<History> {
  const from = new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 19);
  const step = Math.max(SHORTEST_STEP, Math.ceil((hours * 3_600) / POINTS));
  const { data: bare } = await installer.GET('/admin/metrics/history', { signal });
  const names = (bare as Schemas['MetricsHistory']).names;
  // One name for all series of a group: the list of all names is longer than a query may be.
  const groups = [...new Set(names.map((name) => `${name.split('.')[0]}.`))].join(',');
  const [{ data }, happenings] = await Promise.all([
    names.length === 0
      ? { data: bare }
      : installer.GET('/admin/metrics/history', { params: { query: { series: groups, from, step } }, signal }),
    loadHappenings(from, signal),
  ]);
  const found = data as Schemas['MetricsHistory'];
  const beginning = Date.parse(found.from) / 1_000;
  const length = Math.max(0, ...Object.values(found.series).map((values) => values.length));
  return {
    times: Array.from({ length }, (_value, i) => Math.round(beginning + i * found.step)),
    series: found.series,
    happenings: happenings.filter(({ at }) => at >= beginning),
  };
}

async function loadHappenings(from: string, signal: AbortSignal): Promise<readonly Happening[]> {
  const routes = Object.keys(words.happenings);
  const [metrics, ...pages] = await Promise.all([
    readMetrics(signal),
    ...routes.map(async (route) => {
      const query = { route, from, outcome: 'done', limit: MOST_EVENTS } as const;
      return (await installer.GET('/admin/audit', { params: { query }, signal })).data as Schemas['AuditReport'];
    }),
  ]);
  const started = metrics.value('process_start_time_seconds');
  const orders = pages.flatMap(({ results }) => results.flatMap((item) => happeningOf(item) ?? []));
  return [...orders, ...(started === undefined ? [] : [{ at: started, text: words.started }])].sort(
    (a, b) => a.at - b.at,
  );
}

function happeningOf({ at, method, route, actor, records }: Schemas['AuditItem']): Happening | undefined {
  const texting = words.happenings[route as keyof typeof words.happenings];
  const text = texting?.(method, records);
  if (text === undefined || text === '') return undefined;
  return {
    at: Date.parse(at) / 1_000,
    text: words.by(text, texts.audit.actorOf(texts.audit.actors[actor.kind], actor.id)),
  };
}
