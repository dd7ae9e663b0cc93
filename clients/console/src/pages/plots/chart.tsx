// One plot: lines over time, what happened as upright lines, and the same in words below.

import { useEffect, useId, useRef } from 'react';
import UPlot from 'uplot';
import { texts } from '../../texts.ts';
import type { Happening } from './history.ts';

const words = texts.plots;
const HEIGHT = 200;
const COLOURS = 9;
const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** Its colour, the same in all plots. */
  readonly colour: number;
}

interface Props {
  readonly title: string;
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly happenings: readonly Happening[];
  readonly format: (value: number) => string;
  /** Changes when the colours do. */
  readonly look: string;
}

export function Chart({ title, times, lines, happenings, format, look }: Props) {
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another look has other colours
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const plot = new UPlot(
      optionsOf(element, lines, happenings, format),
      [[...times], ...lines.map(({ values }) => [...values])],
      element,
    );
    const following = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    following.observe(element);
    return () => {
      following.disconnect();
      plot.destroy();
    };
  }, [times, lines, happenings, format, look]);
  return (
    <figure className="card plot" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      <div ref={place} aria-hidden="true" />
      <ul>
        {lines.map(({ name, values, colour }) => (
          <li key={name}>
            <span className={`key colour-${colour % COLOURS}`} />
            <strong>{name}</strong> {words.summary(...summaryOf(values, format))}
          </li>
        ))}
      </ul>
    </figure>
  );
}

function summaryOf(values: readonly (number | null)[], format: (value: number) => string): [string, string] {
  const known = values.filter((value) => value !== null);
  return [format(known.at(-1) ?? 0), format(Math.max(0, ...known))];
}

function optionsOf(
  element: HTMLElement,
  lines: readonly Line[],
  happenings: readonly Happening[],
  format: (value: number) => string,
): UPlot.Options {
  const [text, grid, mark] = ['var(--quiet)', 'var(--line)', 'var(--busy)'].map((one) => resolved(element, one));
  const axis = { stroke: text ?? '', grid: { stroke: grid ?? '', width: 1 }, ticks: { stroke: grid ?? '', width: 1 } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: 'plots' }, points: { size: 6 } },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, values: (_plot, ticks) => ticks.map((at) => clock.format(at * 1_000)) },
      { ...axis, size: 70, values: (_plot, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...lines.map(({ name, values, colour }) => ({
        label: name,
        stroke: resolved(element, `var(--plot-${colour % COLOURS})`),
        width: 2,
        spanGaps: false,
        points: { show: hasLonePoints(values), size: 5 },
      })),
    ],
    hooks: { draw: [(plot) => drawHappenings(plot, happenings, mark ?? '')] },
  };
}

/** Values without a neighbour, which no line shows. */
const hasLonePoints = (values: readonly (number | null)[]): boolean =>
  values.some((value, i) => value !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null);

function drawHappenings(plot: UPlot, happenings: readonly Happening[], colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const { at } of happenings) {
    const x = Math.round(plot.valToPos(at, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** A colour of the style sheet as the canvas needs it. */
function resolved(element: HTMLElement, colour: string): string {
  const probe = element.appendChild(document.createElement('span'));
  probe.style.color = colour;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
