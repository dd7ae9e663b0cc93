// The life of a dataset: each step with its status and messages, and the events that are kept.

import { type DatasetDetails, type DatasetEvent, outcomeOf } from '../../../../typescript/src/index.ts';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts.ts';

const words = texts.dataset;

type State = keyof typeof words.states;

interface Step {
  readonly key: string;
  readonly title: string;
  readonly state: State | undefined;
  readonly messages: readonly string[];
  readonly at?: string | undefined;
}

const KINDS: Readonly<Record<State, 'good' | 'bad' | 'busy' | ''>> = {
  running: 'busy',
  success: 'good',
  rejected: 'bad',
  failed: 'bad',
  queued: '',
  'in-progress': 'busy',
  complete: 'good',
  invalid: 'bad',
  'failed-validation': 'bad',
  'failed-installation': 'bad',
  'ready-for-reinstall': 'busy',
  'missing-dependency': 'bad',
};

function stepsOf({ status, installTargets }: DatasetDetails, events: readonly DatasetEvent[]): readonly Step[] {
  const { upload, import: imported, install } = status;
  const at = (kind: DatasetEvent['kind']): string | undefined => events.findLast((event) => event.kind === kind)?.at;
  const hasEnded = upload.status === 'success';
  return [
    {
      ...{ key: 'upload', title: words.steps.upload, state: upload.status, at: at('accepted') },
      messages: upload.message === undefined ? [] : [upload.message],
    },
    {
      ...{ key: 'import', title: words.steps.import, state: hasEnded ? imported.status : undefined },
      ...{ messages: imported.messages ?? [], at: at('import-ended') },
    },
    ...installTargets.flatMap((target) => {
      const state = install.find(({ installTarget }) => installTarget === target);
      return (['data', 'meta'] as const).map((part) => ({
        ...{ key: `${target} ${part}`, title: words.steps[part](target), state: state?.[part]?.status },
        messages: state?.[part]?.messages ?? [],
      }));
    }),
  ];
}

export function Life({
  dataset,
  events,
}: {
  readonly dataset: DatasetDetails;
  readonly events: readonly DatasetEvent[];
}) {
  const outcome = outcomeOf(dataset.status);
  const { upload, import: imported } = dataset.status;
  const hasFailedEarly = upload.status === 'failed' || imported.status === 'failed';
  return (
    <section className="card" aria-label={words.life}>
      <h2>{words.life}</h2>
      {outcome === 'refused' && <p className="fault">{words.advice.refused}</p>}
      {outcome === 'failed' && (
        <p className="fault">{hasFailedEarly ? words.advice.failed : words.advice.failedInstall}</p>
      )}
      <ol className="timeline">
        {stepsOf(dataset, events).map(({ key, title, state, messages, at }) => (
          <li key={key} className={state === undefined ? '' : KINDS[state]}>
            <div className="head">
              <strong>{title}</strong>
              {at !== undefined && (
                <span className="hint">
                  <Time at={at} />
                </span>
              )}
              <span className={`badge ${state === undefined ? '' : KINDS[state]}`}>
                {state === undefined ? words.notYet : words.states[state]}
              </span>
            </div>
            {messages.length > 0 && (
              <ul className="messages">
                {messages.map((message) => (
                  <li key={message}>{message}</li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ol>
      <details>
        <summary>{words.events}</summary>
        {events.length === 0 && <p className="hint">{words.noEvents}</p>}
        <ul className="messages">
          {events.map(({ id, kind, at, installTarget }) => (
            <li key={id}>
              {words.eventKinds[kind]} {installTarget ?? ''} <Time at={at} />
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}
