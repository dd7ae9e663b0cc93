// Upload: files are sent as soon as they are chosen; the dataset is created when they are there and the form is sent. What is
// wrong the server says, beside the fields.

import { type FormEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { LongshoreError, uploadDataset } from '../../../../typescript/src/index.ts';
import { draftOf, dropDraft, keepDraft } from '../../api/draft.ts';
import { useLoad } from '../../api/load.ts';
import { randomKey } from '../../api/random-key.ts';
import { faultsOf, installer, session } from '../../api/session.ts';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { type Faults, faultsAt } from '../../components/faults.ts';
import { Select, TextField } from '../../components/field.tsx';
import { Empty, Loading, ProblemView, wordsOf } from '../../components/notices.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { go, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { chosenTargets, detailsOf, otherFaults, type Plugin, targetsOf, typesOf } from './details.ts';
import { Attached, DataFields, Section } from './fields.tsx';
import { Files } from './files.tsx';
import { Revision } from './revision.tsx';
import { findUploads, forgetAll, transfers } from './transfers.ts';

const words = texts.upload;

interface Offered {
  readonly plugins: readonly Plugin[];
  readonly targets: readonly { readonly id: string; readonly name: string }[];
}

export default function UploadPage() {
  const revised = useRoute().query.get('revise');
  return revised === null ? <NewDataset /> : <Revision key={revised} id={revised} />;
}

function NewDataset() {
  const offered = useLoad('offered', async (signal): Promise<Offered> => {
    const [plugins, meta] = await Promise.all([
      installer.GET('/plugins', { signal }),
      installer.GET('/service-meta', { signal }),
      findUploads(signal),
    ]);
    return {
      plugins: plugins.data as readonly Plugin[],
      targets: meta.data?.configuration.installTargets ?? [],
    };
  });
  return (
    <>
      <div className="page-head">
        <div>
          <h1>{words.title}</h1>
          <p>{words.lead}</p>
        </div>
      </div>
      {offered.error !== undefined && <ProblemView error={offered.error} onRetry={offered.reload} />}
      {!offered.value && offered.isLoading && <Loading />}
      {offered.value?.plugins.length === 0 && (
        <Empty icon="upload" title={words.noTypes} advice={words.noTypesAdvice} />
      )}
      {offered.value && offered.value.plugins.length > 0 && <UploadForm {...offered.value} />}
    </>
  );
}

function UploadForm({ plugins, targets }: Offered) {
  const user = useStore(session)?.self.userId;
  const [values, setValues] = useState(() => draftOf(user));
  const [faults, setFaults] = useState<Faults>({});
  const [failure, setFailure] = useState<unknown>();
  const [properties, setProperties] = useState<readonly File[]>([]);
  const [documents, setDocuments] = useState<readonly File[]>([]);
  const [step, setStep] = useState<'editing' | 'waiting' | 'creating'>('editing');
  const files = useStore(transfers).filter(({ state }) => state !== 'found');
  const key = useRef(randomKey());
  const head = useRef<HTMLDivElement>(null);
  const types = typesOf(plugins);
  const type = types.get(values.type ?? '');
  const isByUrl = values.source === 'url';
  const allowed = values.type ? targetsOf(plugins, values.type) : undefined;
  const offeredTargets = allowed ? targets.filter(({ id }) => allowed.has(id)) : targets;

  const set = (path: string, value: string): void => {
    const next = { ...values, [path]: value };
    setValues(next);
    keepDraft(user, next);
    setFaults((before) => Object.fromEntries(Object.entries(before).filter(([one]) => one !== path)));
  };
  const refuse = (found: Faults, error?: unknown): void => {
    setFaults(found);
    setFailure(error);
    setStep('editing');
    requestAnimationFrame(() => (firstFault() ?? head.current)?.focus());
  };
  const create = async (): Promise<void> => {
    setStep('creating');
    // Sites of another type that was chosen before are not meant.
    const offeredIds = new Set(offeredTargets.map(({ id }) => id));
    const installTargets = chosenTargets(values).filter((id) => offeredIds.has(id));
    try {
      const datasetId = await uploadDataset(installer, {
        details: { ...detailsOf(values), installTargets },
        ...(isByUrl
          ? { dataUrl: values.url?.trim() ?? '' }
          : { uploadIds: files.flatMap(({ uploadId }) => (uploadId === undefined ? [] : [uploadId])) }),
        ...{ documents, properties, idempotencyKey: key.current },
      });
      if (!isByUrl) forgetAll();
      dropDraft();
      tellDone(words.created);
      go(`dataset/${datasetId}`);
    } catch (error) {
      // A refused request was answered: the corrected one is another. One without an answer is repeated as it was.
      if (error instanceof LongshoreError && error.code < 500) key.current = randomKey();
      refuse(faultsOf(error), error);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (step !== 'editing') return;
    const isStopped = files.some(({ state }) => state === 'paused' || state === 'failed');
    const lacks = isByUrl
      ? undefined
      : files.length === 0
        ? words.filesNeeded
        : isStopped
          ? words.resumeFirst
          : undefined;
    if (lacks !== undefined) {
      refuse({ dataFile: [lacks] });
      return;
    }
    setFaults({});
    setFailure(undefined);
    setStep('waiting');
  };
  const areSent = isByUrl || (files.length > 0 && files.every(({ state }) => state === 'done'));
  // biome-ignore lint/correctness/useExhaustiveDependencies: only these two begin it
  useEffect(() => {
    if (step === 'waiting' && areSent) void create().catch(tellProblem);
  }, [step, areSent]);

  const form = { values, faults, set };
  return (
    <form className="form" onSubmit={submit} noValidate>
      {failure !== undefined && <Refused at={head} failure={failure} faults={faults} />}
      <section className="card" aria-label={words.data}>
        <h2>{words.data}</h2>
        <DataFields {...form} types={types} targets={offeredTargets} />
        <Select
          label={words.source}
          value={isByUrl ? 'url' : 'files'}
          options={Object.entries(words.sources)}
          onChange={(source) => set('source', source)}
        />
        {isByUrl ? (
          <TextField
            label={words.url}
            hint={words.urlHint}
            type="url"
            value={values.url ?? ''}
            onChange={(url) => set('url', url)}
            faults={faultsAt(faults, 'url')}
          />
        ) : (
          <Files faults={[...faultsAt(faults, 'dataFile'), ...faultsAt(faults, 'uploadIds')]} />
        )}
        {type?.usesDataProperties && (
          <Attached
            label={words.properties}
            hint={words.propertiesHint}
            faults={faultsAt(faults, 'dataPropertiesFile')}
            onChange={setProperties}
          />
        )}
      </section>
      <Section section="about" {...form} />
      <Section section="contact" {...form} />
      <Section section="study" {...form} />
      <Section section="publication" {...form} />
      <div className="card">
        <Attached
          label={words.documents}
          hint={words.documentsHint}
          faults={faultsAt(faults, 'docFile')}
          onChange={setDocuments}
        />
      </div>
      <div className="bar">
        <span role="status">
          {step === 'waiting' && words.waiting}
          {step === 'creating' && words.creating}
        </span>
        {step === 'waiting' && <Button onPress={() => setStep('editing')}>{words.stopWaiting}</Button>}
        <Button
          onPress={() => {
            dropDraft();
            setValues({});
            refuse({});
          }}
        >
          {words.clear}
        </Button>
        <Button kind="primary" icon="upload" type="submit" isDisabled={step !== 'editing'}>
          {words.submit}
        </Button>
      </div>
    </form>
  );
}

const firstFault = (): HTMLElement | undefined =>
  document.querySelector<HTMLElement>('.form [aria-invalid="true"]:not(fieldset)') ?? undefined;

interface RefusedProps {
  readonly at: RefObject<HTMLDivElement>;
  readonly failure: unknown;
  readonly faults: Faults;
}

function Refused({ failure, faults, at }: RefusedProps) {
  const { text, requestId } = wordsOf(failure);
  const general = failure instanceof LongshoreError ? (failure.problem?.errors?.general ?? []) : [];
  const others = [...general, ...otherFaults(faults)];
  return (
    <div className="problem" role="alert" ref={at} tabIndex={-1}>
      <div>
        <h2>{words.faultsHeading}</h2>
        <p>{Object.keys(faults).length > 0 ? words.faultsAdvice : text}</p>
        {others.length > 0 && (
          <ul>
            {others.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        )}
        {requestId !== undefined && <p className="hint">{texts.problem.request(requestId)}</p>}
      </div>
    </div>
  );
}
