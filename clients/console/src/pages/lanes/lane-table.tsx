// The lanes with their load.

import { duration } from '../../components/format.ts';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { PauseButton } from './pause.tsx';
import { type Lane, lanesOf, type Reading } from './reading.ts';

const words = texts.lanes;

interface Props {
  readonly reading: Reading;
  readonly onChange: () => void;
}

export function LaneTable({ reading, onChange }: Props) {
  const columns = words.columns;
  const pausable = reading.metrics
    .list('longshore_paused')
    .flatMap(({ labels }) => (labels.kind === 'lane' ? (labels.name ?? []) : []));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard
    <section className="table short" aria-label={words.title} tabIndex={0}>
      <table>
        <caption className="hidden-text">{words.caption}</caption>
        <thead>
          <tr>
            <th>{columns.lane}</th>
            <th>{columns.busy}</th>
            <th className="right">{columns.queued}</th>
            <th className="right wide-only">{columns.delayed}</th>
            <th className="right wide-only">{columns.dead}</th>
            <th className="right wide-only">{columns.oldest}</th>
            <th className="right wide-only">{columns.rate}</th>
            <th className="right wide-only">{columns.wait}</th>
            <th className="right wide-only">{columns.run}</th>
            <th>{columns.pause}</th>
          </tr>
        </thead>
        <tbody>
          {lanesOf(reading, texts.operate.lanes).map((lane) => (
            <tr key={lane.name}>
              <th scope="row">{lane.title}</th>
              <td>
                <Load lane={lane} />
              </td>
              <td className="right">{lane.queued.toLocaleString('en')}</td>
              <td className="right wide-only">{lane.delayed.toLocaleString('en')}</td>
              <td className="right wide-only">
                <Dead lane={lane} />
              </td>
              <td className="right wide-only">{lane.oldestSeconds > 0 ? duration(lane.oldestSeconds) : words.none}</td>
              <td className="right wide-only">{words.rate(lane.donePerSecond, lane.failedPerSecond)}</td>
              <td className="right wide-only">
                {lane.waitSeconds === undefined ? words.none : duration(lane.waitSeconds)}
              </td>
              <td className="right wide-only">
                {lane.runSeconds === undefined ? words.none : duration(lane.runSeconds)}
              </td>
              <td>
                {pausable.includes(lane.name) && (
                  <PauseButton
                    kind="lane"
                    name={lane.name}
                    title={lane.title}
                    pause={reading.pauses.find((one) => one.kind === 'lane' && one.name === lane.name)}
                    onChange={onChange}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Load({ lane: { title, busy, workers } }: { readonly lane: Lane }) {
  return (
    <span className="load">
      <meter aria-label={words.load(title)} min={0} max={Math.max(1, workers)} value={busy} />
      {words.busy(busy, workers)}
    </span>
  );
}

function Dead({ lane: { name, dead } }: { readonly lane: Lane }) {
  if (dead === 0) return dead;
  return <a href={to('problems/jobs', { lane: name, state: 'dead' })}>{dead.toLocaleString('en')}</a>;
}
