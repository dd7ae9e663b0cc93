// The reconciler: what its last run found, what it would delete, and an order to run and, if the person allows it, delete.

import { useState } from 'react';
import { usePolled } from '../../api/polling.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { ProblemView } from '../../components/notices.tsx';
import { useMayChange } from '../../components/operator.tsx';
import { Time } from '../../components/time.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';

const words = texts.reconciler;
/** Each load is a row of the audit trail. */
const EVERY_MS = 60_000;
const WHILE_RUNNING_MS = 3_000;

type Run = Schemas['ReconcileReport'];
interface Runs {
  readonly current?: Run;
  readonly last?: Run;
}

export function Reconciler() {
  const mayChange = useMayChange();
  const [isActive, setActive] = useState(false);
  const { value, error, reload } = usePolled(
    'reconciler',
    async (signal) => {
      const { data } = await installer.GET('/admin/rpc/datasets/reconcile', { signal });
      setActive((data as Runs).current !== undefined);
      return data as Runs;
    },
    isActive ? WHILE_RUNNING_MS : EVERY_MS,
  );
  const [isAsking, setAsking] = useState(false);
  const start = async (allowDeletes: boolean): Promise<void> => {
    setAsking(false);
    try {
      await installer.POST('/admin/rpc/datasets/reconcile', {
        params: { query: allowDeletes ? { 'allow-deletes': true } : {} },
      });
      tellDone(words.started);
      setActive(true);
      reload();
    } catch (fault) {
      tellProblem(fault);
    }
  };
  const isRunning = value?.current !== undefined;
  const run = value?.current ?? value?.last;
  const missing = run ? sumOf(run) : 0;
  return (
    <section className="card reconciler" aria-labelledby="reconciler">
      <h2 id="reconciler">{words.title}</h2>
      <p className="hint">{words.lead}</p>
      {error !== undefined && <ProblemView error={error} onRetry={reload} />}
      {value && !run && <p>{words.none}</p>}
      {run && <RunView run={run} />}
      <div className="actions">
        <Button isDisabled={!mayChange || isRunning} onPress={() => void start(false)}>
          {words.start}
        </Button>
        <Button kind="danger" isDisabled={!mayChange || isRunning || missing === 0} onPress={() => setAsking(true)}>
          {words.allow}
        </Button>
      </div>
      {isAsking && (
        <Confirm
          title={words.allowTitle}
          action={words.allow}
          onClose={() => setAsking(false)}
          onConfirm={() => void start(true)}
        >
          <p>{words.allowAdvice(missing)}</p>
        </Confirm>
      )}
    </section>
  );
}

const sumOf = ({ absent }: Run): number => Object.values(absent).reduce((sum, count) => sum + count, 0);

function RunView({ run }: { readonly run: Run }) {
  const { kind, started, ended, listed, reconciled, deleted, spared, absent, leftOut, braked, failure } = run;
  return (
    <>
      <p className="line">
        <span className={`badge ${failure !== undefined || braked !== undefined ? 'bad' : ended ? 'good' : 'busy'}`}>
          {failure !== undefined ? words.failed : ended === undefined ? words.running : words.ended}
        </span>
        {words.kinds[kind]} <Time at={ended ?? started} />
      </p>
      {failure !== undefined && <p className="message">{failure}</p>}
      {braked !== undefined && (
        <p className="message">
          <strong>{words.braked}</strong> {braked}
        </p>
      )}
      <p>{words.counts(listed, reconciled, deleted, spared)}</p>
      {sumOf(run) > 0 && (
        <>
          <p>{words.absent}</p>
          <ul>
            {Object.entries(absent).map(([database, count]) => (
              <li key={database}>{words.absentIn(database, count)}</li>
            ))}
          </ul>
        </>
      )}
      {leftOut.map(({ installTarget, reason }) => (
        <p key={installTarget}>{words.leftOut(installTarget, reason)}</p>
      ))}
    </>
  );
}
