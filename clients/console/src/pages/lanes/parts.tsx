// What the lanes need: plugins, install targets, dependencies, disks; and the daemons.

import { bytes } from '../../components/format.ts';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts.ts';
import { PauseButton } from './pause.tsx';
import type { Reading } from './reading.ts';

const words = texts.lanes;

interface Props {
  readonly reading: Reading;
}

interface PartsProps extends Props {
  readonly kind: 'plugin' | 'target';
  readonly onChange: () => void;
}

type Dependency = Reading['health']['dependencies'][number];

export function Parts({ reading: { metrics, health, pauses }, kind, onChange }: PartsProps) {
  const names = metrics
    .list('longshore_paused')
    .flatMap(({ labels }) => (labels.kind === kind ? (labels.name ?? []) : []));
  return (
    <section className="card" aria-labelledby={kind}>
      <h2 id={kind}>{words.parts[kind]}</h2>
      {names.length === 0 && <p className="hint">{words.noParts[kind]}</p>}
      <ul className="parts">
        {names.map((name) => (
          <li key={name}>
            <span className="part-name">
              <strong>{name}</strong>
              <State
                dependency={health.dependencies.find((one) => one.name === `${kind} ${name}`)}
                isBroken={metrics.value('longshore_plugin_breaker_open', { plugin: name }) === 1 && kind === 'plugin'}
              />
            </span>
            <PauseButton
              kind={kind}
              name={name}
              title={name}
              pause={pauses.find((one) => one.kind === kind && one.name === name)}
              onChange={onChange}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface StateProps {
  readonly dependency: Dependency | undefined;
  readonly isBroken?: boolean;
}

function State({ dependency, isBroken = false }: StateProps) {
  const { online = 'unknown', message } = dependency ?? {};
  return (
    <>
      <span className={`badge ${online === 'yes' ? 'good' : dependency ? 'bad' : ''}`}>{words.online[online]}</span>
      {isBroken && <span className="badge bad">{words.breakerOpen}</span>}
      {message !== undefined && <span className="hint">{message}</span>}
    </>
  );
}

export function Dependencies({ reading: { health } }: Props) {
  const others = health.dependencies.filter(({ name }) => !/^(plugin|target) /.test(name));
  return (
    <section className="card" aria-labelledby="dependencies">
      <h2 id="dependencies">{words.dependencies}</h2>
      <ul className="parts">
        {others.map((one) => (
          <li key={one.name}>
            <span className="part-name">
              <strong>{one.name}</strong>
              <State dependency={one} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Disks({ reading: { metrics } }: Props) {
  const disks = metrics.list('longshore_disk_size_bytes').map(({ labels: { folder = '' }, value: size }) => ({
    folder,
    size,
    free: metrics.value('longshore_disk_free_bytes', { folder }) ?? 0,
  }));
  return (
    <section className="card" aria-labelledby="disks">
      <h2 id="disks">{words.disks}</h2>
      <ul className="parts">
        {disks.map(({ folder, size, free }) => (
          <li key={folder} className="disk">
            <code>{folder}</code>
            <meter aria-label={words.free(folder)} min={0} max={size} low={size / 10} optimum={size} value={free} />
            <span className="hint">{words.freeOf(bytes(free), bytes(size))}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Daemons({ reading: { metrics } }: Props) {
  const columns = words.daemonColumns;
  const rows = metrics.list('longshore_daemon_leader').map(({ labels: { daemon = '' }, value }) => ({
    daemon,
    leads: value === 1,
    done: metrics.value('longshore_daemon_runs_total', { daemon, result: 'done' }) ?? 0,
    failed: metrics.value('longshore_daemon_runs_total', { daemon, result: 'failed' }) ?? 0,
    last: metrics.value('longshore_daemon_last_run_timestamp_seconds', { daemon }),
  }));
  return (
    <details className="card">
      <summary>
        <strong>{words.daemons}</strong>{' '}
        {words.daemonCount(rows.length, rows.filter(({ failed }) => failed > 0).length)}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard */}
      <section className="table short" aria-label={words.daemons} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>{columns.daemon}</th>
              <th>{columns.leads}</th>
              <th className="right">{columns.done}</th>
              <th className="right">{columns.failed}</th>
              <th className="wide-only">{columns.last}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ daemon, leads, done, failed, last }) => (
              <tr key={daemon}>
                <th scope="row">{daemon}</th>
                <td>{leads ? words.leads : words.doesNotLead}</td>
                <td className="right">{done.toLocaleString('en')}</td>
                <td className="right">{failed.toLocaleString('en')}</td>
                <td className="wide-only">
                  {last === undefined ? words.none : <Time at={new Date(last * 1_000).toISOString()} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
