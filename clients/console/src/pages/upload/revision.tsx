// A new revision of a dataset: other data, and why. The metadata stay as they are.

import { type FormEvent, useEffect, useRef, useState } from 'react';
import { type DatasetDetails, LongshoreError } from '../../../../typescript/src/index.ts';
import { useLoad } from '../../api/load.ts';
import { randomKey } from '../../api/random-key.ts';
import { faultsOf, installer } from '../../api/session.ts';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { useFaultFocus } from '../../components/fault-focus.ts';
import { faultsAt } from '../../components/faults.ts';
import { TextField } from '../../components/field.tsx';
import { Loading, ProblemView } from '../../components/notices.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { go, to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Files } from './files.tsx';
import { findUploads, forgetAll, transfers } from './transfers.ts';

const words = texts.upload;

export function Revision({ id }: { readonly id: string }) {
  const { value, error, reload } = useLoad(`revise ${id}`, async (signal) => {
    const [{ data }] = await Promise.all([
      installer.GET('/datasets/{id}', { params: { path: { id } }, signal }),
      findUploads(signal),
    ]);
    return data as DatasetDetails;
  });
  return (
    <>
      <div className="page-head">
        <div>
          <h1>{words.reviseTitle}</h1>
          {value && (
            <p>
              {words.reviseOf} <a href={to(`dataset/${id}`)}>{value.name}</a>
            </p>
          )}
        </div>
      </div>
      {error !== undefined && <ProblemView error={error} onRetry={reload} />}
      {!value && error === undefined && <Loading />}
      {value && <RevisionForm dataset={value} />}
    </>
  );
}

function RevisionForm({ dataset }: { readonly dataset: DatasetDetails }) {
  const [origin, setOrigin] = useState(dataset.origin);
  const [note, setNote] = useState('');
  const [error, setError] = useState<unknown>();
  const [lacks, setLacks] = useState<string>();
  const [step, setStep] = useState<'editing' | 'waiting' | 'creating'>('editing');
  const key = useRef(randomKey());
  const files = useStore(transfers).filter(({ state }) => state !== 'found');
  const faults = faultsOf(error);
  useFaultFocus(error);
  const create = async (): Promise<void> => {
    setStep('creating');
    try {
      const { data } = await installer.PUT('/datasets/{id}', {
        params: { path: { id: dataset.datasetId }, header: { 'Idempotency-Key': key.current } },
        body: {
          details: { origin: origin.trim(), revisionNote: note.trim() },
          uploadIds: files.flatMap(({ uploadId }) => (uploadId === undefined ? [] : [uploadId])),
        } as never,
      });
      forgetAll();
      tellDone(words.created);
      go(`dataset/${(data as { readonly datasetId: string }).datasetId}`);
    } catch (thrown) {
      if (thrown instanceof LongshoreError && thrown.code < 500) key.current = randomKey();
      setError(thrown);
      setStep('editing');
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const isStopped = files.some(({ state }) => state === 'paused' || state === 'failed');
    const missing = files.length === 0 ? words.filesNeeded : isStopped ? words.resumeFirst : undefined;
    setLacks(missing);
    if (missing !== undefined) return;
    setError(undefined);
    setStep('waiting');
  };
  const areSent = files.length > 0 && files.every(({ state }) => state === 'done');
  // biome-ignore lint/correctness/useExhaustiveDependencies: only these two begin it
  useEffect(() => {
    if (step === 'waiting' && areSent) void create().catch(tellProblem);
  }, [step, areSent]);
  return (
    <form className="form" onSubmit={submit} noValidate>
      {error !== undefined && <ProblemView error={error} />}
      <section className="card" aria-label={words.data}>
        <h2>{words.data}</h2>
        <Files faults={[...(lacks === undefined ? [] : [lacks]), ...faultsAt(faults, 'dataFile')]} />
      </section>
      <div className="card">
        <TextField
          label={words.note}
          hint={words.noteHint}
          lines={3}
          isRequired
          value={note}
          onChange={setNote}
          faults={faultsAt(faults, 'revisionNote')}
        />
        <TextField
          label={words.fields.origin}
          hint={words.hints.origin}
          isRequired
          value={origin}
          onChange={setOrigin}
          faults={faultsAt(faults, 'origin')}
        />
      </div>
      <div className="bar">
        <span role="status">
          {step === 'waiting' && words.waiting}
          {step === 'creating' && words.creating}
        </span>
        {step === 'waiting' && <Button onPress={() => setStep('editing')}>{words.stopWaiting}</Button>}
        <Button kind="primary" icon="upload" type="submit" isDisabled={step !== 'editing'}>
          {words.reviseSubmit}
        </Button>
      </div>
    </form>
  );
}
