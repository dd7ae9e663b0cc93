// Plots of the last hours, for operators: load of the lanes, the process, requests, datasets, disks.

import { useEffect, useMemo, useState } from 'react';
import { usePolled } from '../../api/polling.ts';
import { Select } from '../../components/field.tsx';
import { bytes, milliseconds } from '../../components/format.ts';
import { Empty, Loading } from '../../components/notices.tsx';
import { AdminProblem } from '../../components/operator.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Time } from '../../components/time.tsx';
import { replace, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Chart, type Line } from './chart.tsx';
import { type History, loadHistory } from './history.ts';

const words = texts.plots;
const EVERY_MS = 60_000;
const RANGES = { 1: 1, 6: 6, 24: 24 } as const;
const LANES = Object.keys(texts.operate.lanes);

const count = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 2 });
const seconds = (value: number): string => milliseconds(value * 1_000);
const percent = (value: number): string => `${count(value * 100)} %`;

const PLOTS = [
  ...(['queued', 'running', 'delayed', 'dead'] as const).map((of) => ({ of, format: count })),
  ...(['done', 'failed'] as const).map((of) => ({ of, format: count })),
  ...(['oldest', 'wait', 'run'] as const).map((of) => ({ of, format: seconds })),
];
const OTHERS = [
  { of: 'process.cpu', format: percent },
  { of: 'process.memory', format: bytes },
  { of: 'process.delay', format: seconds },
  { of: 'requests.', format: count },
  { of: 'datasets.', format: count },
  { of: 'disk.', format: bytes },
] as const;

export default function PlotsPage() {
  const { query } = useRoute();
  const range = query.get('hours') ?? '1';
  const lane = query.get('lane') ?? '';
  const hours = RANGES[range as unknown as keyof typeof RANGES] ?? 1;
  const { value, error, isLoading, reload } = usePolled(
    String(hours),
    (signal) => loadHistory(hours, signal),
    EVERY_MS,
  );
  const ask = (more: Readonly<Record<string, string>>): void =>
    replace('plots', { ...Object.fromEntries(query), ...more });
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      <search className="filters">
        <Select
          label={words.range}
          value={String(hours)}
          options={Object.entries(words.ranges)}
          onChange={(one) => ask({ hours: one })}
        />
        <Select
          label={texts.lanes.columns.lane}
          value={lane}
          options={[['', words.allLanes], ...Object.entries(texts.operate.lanes)]}
          onChange={(one) => ask({ lane: one })}
        />
      </search>
      {error !== undefined && <AdminProblem error={error} onRetry={reload} />}
      {!value && isLoading && <Loading />}
      {value && (value.times.length === 0 ? <Nothing /> : <Plots history={value} lane={lane} />)}
    </>
  );
}

const Nothing = () => <Empty icon="plots" title={words.none} advice={words.noneAdvice} />;

interface PlotsProps {
  readonly history: History;
  readonly lane: string;
}

function Plots({ history, lane }: PlotsProps) {
  const look = useLook();
  const { times, happenings } = history;
  const plots = useMemo(() => plotsOf(history, lane), [history, lane]);
  return (
    <>
      <div className="plots">
        {plots.map((plot) => (
          <Chart key={plot.title} {...plot} times={times} happenings={happenings} look={look} />
        ))}
      </div>
      <section className="card" aria-labelledby="happenings">
        <h2 id="happenings">{words.happened}</h2>
        <p className="hint">{words.happenedAdvice}</p>
        <ul className="parts">
          {happenings.toReversed().map(({ at, text }) => (
            <li key={`${at} ${text}`}>
              {text} <Time at={new Date(at * 1_000).toISOString()} />
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

interface Plot {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
}

/** Lanes that did nothing in a plot are left out of it, and so are plots without a line. */
function plotsOf({ series }: History, lane: string): readonly Plot[] {
  const ofLanes = PLOTS.map(({ of, format }) => ({
    title: words.plots[of],
    format,
    lines: LANES.flatMap((name, colour): readonly Line[] => {
      const values = series[`lane.${name}.${of}`];
      if (!values || (lane !== '' && lane !== name)) return [];
      const isIdle = values.every((value) => !value);
      return isIdle && lane === ''
        ? []
        : [{ name: texts.operate.lanes[name as keyof typeof texts.operate.lanes], values, colour }];
    }),
  }));
  const others = OTHERS.map(({ of, format }) => ({
    title: words.plots[of],
    format,
    lines: Object.entries(series)
      .filter(([name]) => (of.endsWith('.') ? name.startsWith(of) : name === of))
      .filter(([, values]) => values.some((value) => value))
      .map(([name, values], colour) => ({
        name: of.endsWith('.') ? name.slice(of.length).replace(/\.free$/, '') : words.thisProcess,
        values,
        colour,
      })),
  }));
  return [...ofLanes, ...(lane === '' ? others : [])].filter(({ lines }) => lines.length > 0);
}

/** Text that changes with the colours of the page. */
function useLook(): string {
  const [look, setLook] = useState(lookNow);
  useEffect(() => {
    const change = (): void => setLook(lookNow());
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const theme = new MutationObserver(change);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    dark.addEventListener('change', change);
    return () => {
      theme.disconnect();
      dark.removeEventListener('change', change);
    };
  }, []);
  return look;
}

const lookNow = (): string =>
  `${document.documentElement.dataset.theme ?? ''} ${matchMedia('(prefers-color-scheme: dark)').matches}`;
