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
import { useFaultFocus } from '../../components/fault-focus.ts';
import { type Faults, faultsAt } from '../../components/faults.ts';
import { Select, TextField } from '../../components/field.tsx';
import { Empty, Loading, ProblemView, Refusal, wordsOf } from '../../components/notices.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { go, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import {
  chosenTargets,
  detailsOf,
  missingOf,
  otherFaults,
  type Plugin,
  requiredOf,
  type Target,
  takes,
  targetsOf,
  typesOf,
} from './details.ts';
import { Attached, DataFields, Section } from './fields.tsx';
import { Files } from './files.tsx';
import { Revision } from './revision.tsx';
import { findUploads, forgetAll, type Transfer, transfers } from './transfers.ts';

const words = texts.upload;

interface Offered {
  readonly plugins: readonly Plugin[];
  readonly targets: readonly Target[];
  /** Extensions of archives. */
  readonly archives: readonly string[];
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
      archives: meta.data?.features.supportedArchiveTypes ?? [],
    };
  });
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      {offered.error !== undefined && <ProblemView error={offered.error} onRetry={offered.reload} />}
      {!offered.value && offered.isLoading && <Loading />}
      {offered.value?.plugins.length === 0 && (
        <Empty icon="upload" title={words.noTypes} advice={words.noTypesAdvice} />
      )}
      {offered.value && offered.value.plugins.length > 0 && <UploadForm {...offered.value} />}
    </>
  );
}

function UploadForm({ plugins, targets, archives }: Offered) {
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
  // Each refusal is a new object: edits change the faults, but must not move the focus.
  const [refusal, setRefusal] = useState<object>();
  useFaultFocus(refusal, head);
  const types = typesOf(plugins);
  const type = types.get(values.type ?? '');
  const isByUrl = values.source === 'url';
  const allowed = values.type ? targetsOf(plugins, values.type) : undefined;
  const offeredTargets = allowed ? targets.filter(({ id }) => allowed.has(id)) : targets;
  const required = requiredOf(values, offeredTargets);
  const needsProperties = type?.usesDataProperties === true && (values.visibility || 'private') !== 'private';
  const faultOf = (name: string, alone: boolean): string | undefined =>
    type && !takes(type, name, alone, archives) ? words.wrongName(type.allowedFileExtensions.join(', ')) : undefined;

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
    setRefusal({});
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
  const missingOfForm = (): Faults => {
    const isStopped = files.some(({ state }) => state === 'paused' || state === 'failed');
    const lacks = files.length === 0 ? words.filesNeeded : isStopped ? words.resumeFirst : undefined;
    return {
      ...missingOf(values, required),
      ...(isByUrl && !values.url?.trim() ? { url: [words.missing] } : {}),
      ...(!isByUrl && lacks !== undefined ? { dataFile: [lacks] } : {}),
      ...(needsProperties && properties.length === 0 ? { dataPropertiesFile: [words.missing] } : {}),
    };
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (step !== 'editing') return;
    // Before the files are sent to their end: the server would find the same only then.
    const missing = missingOfForm();
    if (Object.keys(missing).length > 0) {
      refuse(missing, new Refusal(words.faultsAdvice));
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

  const form = { values, faults, required, set };
  return (
    <form className="form" onSubmit={submit} noValidate>
      {failure !== undefined && <Refused at={head} failure={failure} faults={faults} />}
      <section className="card" aria-label={words.data}>
        <div>
          <h2>{words.data}</h2>
          <p className="hint">{words.requiredAdvice}</p>
        </div>
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
            isRequired
            type="url"
            value={values.url ?? ''}
            onChange={(url) => set('url', url)}
            faults={faultsAt(faults, 'url')}
          />
        ) : (
          <Files faults={[...faultsAt(faults, 'dataFile'), ...faultsAt(faults, 'uploadIds')]} faultOf={faultOf} />
        )}
        {type?.usesDataProperties && (
          <Attached
            label={words.properties}
            hint={words.propertiesHint}
            isRequired={needsProperties}
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
        <div>
          <span role="status">
            {step === 'waiting' && words.waiting}
            {step === 'creating' && words.creating}
          </span>{' '}
          {step === 'waiting' && <span className="hint">{words.sentShare(sentShare(files))}</span>}
        </div>
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

/** In percent. */
function sentShare(files: readonly Transfer[]): number {
  const sum = (of: (file: Transfer) => number): number => files.reduce((all, file) => all + of(file), 0);
  return Math.floor(
    (100 * sum(({ sent }) => sent)) /
      Math.max(
        1,
        sum(({ size }) => size),
      ),
  );
}

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
