// One dataset: its life, its files, and what its owner can do with it. Kept up to date by events.

import { useEffect, useState } from 'react';
import { type DatasetDetails, type DatasetEvent, LongshoreError, outcomeOf } from '../../../../typescript/src/index.ts';
import { useDatasetEvents, useThrottled } from '../../api/events.ts';
import { useLoad } from '../../api/load.ts';
import { installer, session } from '../../api/session.ts';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Empty, Loading, ProblemView } from '../../components/notices.tsx';
import { StatusBadge } from '../../components/status.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { go, replace, to, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Facts, Related, Revisions, Shares } from './aside.tsx';
import { EditDialog, ShareDialog } from './changes.tsx';
import { Files } from './files.tsx';
import { Life } from './life.tsx';

const words = texts.dataset;

/** The newest ones are in the status; older ones tell when. */
const EVENTS = 200;

interface Shown {
  readonly dataset: DatasetDetails;
  readonly etag: string | undefined;
  readonly events: readonly DatasetEvent[];
}

async function shownOf(id: string, signal: AbortSignal): Promise<Shown> {
  const params = { path: { id } };
  const [details, events] = await Promise.all([
    installer.GET('/datasets/{id}', { params, signal }),
    installer.GET('/datasets/{id}/events', { params: { ...params, query: { limit: EVENTS } }, signal }),
  ]);
  return {
    dataset: details.data as DatasetDetails,
    etag: details.response.headers.get('etag') ?? undefined,
    events: (events.data as { readonly events: readonly DatasetEvent[] }).events,
  };
}

export default function DatasetPage() {
  const [id] = useRoute().parts;
  if (id === undefined || id === '')
    return (
      <>
        <h1 className="hidden-text">{words.title}</h1>
        <Empty icon="datasets" title={words.missing} advice={words.missingAdvice}>
          <a href={to('datasets')}>{words.back}</a>
        </Empty>
      </>
    );
  return <OneDataset key={id} id={id} />;
}

function OneDataset({ id }: { readonly id: string }) {
  const { value, error, isLoading, reload } = useLoad(id, (signal) => shownOf(id, signal));
  const reloadSoon = useThrottled(reload);
  useDatasetEvents((event) => {
    if (event === undefined || event.datasetId === id) reloadSoon();
  });
  const isPending = value !== undefined && outcomeOf(value.dataset.status) === 'pending';
  usePolling(isPending, reload);
  // A revision that was replaced leads to the newest.
  const shownId = value?.dataset.datasetId;
  useEffect(() => {
    if (shownId !== undefined && shownId !== id) replace(`dataset/${shownId}`);
  }, [shownId, id]);
  const isGone = error instanceof LongshoreError && error.code === 410;
  return (
    <>
      <a href={to('datasets')}>{words.back}</a>
      {isGone && <Deleted id={id} onBack={reload} />}
      {error !== undefined && !isGone && (
        <>
          <h1 className="hidden-text">{words.title}</h1>
          <ProblemView error={error} onRetry={reload} />
        </>
      )}
      {!value && isLoading && <Loading />}
      {value && !isGone && <Whole {...value} reload={reload} />}
    </>
  );
}

const POLL_MS = 5_000;

/** Events tell ends, not the beginning of a step. */
function usePolling(isOn: boolean, call: () => void): void {
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(call, POLL_MS);
    return () => clearInterval(timer);
  }, [isOn, call]);
}

function Whole({ dataset, etag, events, reload }: Shown & { readonly reload: () => void }) {
  const self = useStore(session)?.self.userId;
  const [change, setChange] = useState<'edit' | 'share' | 'delete'>();
  const isOwn = dataset.owner.userId === self;
  const done = (): void => {
    setChange(undefined);
    reload();
  };
  const close = (): void => setChange(undefined);
  return (
    <>
      <div className="page-head">
        <div>
          <h1>{dataset.name}</h1>
          <p>{dataset.summary}</p>
        </div>
        <StatusBadge status={dataset.status} />
      </div>
      {isOwn && <Actions dataset={dataset} onChange={setChange} reload={reload} />}
      <div className="dataset">
        <div>
          <Life dataset={dataset} events={events} />
          <Files dataset={dataset} />
        </div>
        <div>
          <Facts dataset={dataset} />
          {isOwn && <Shares dataset={dataset} onChange={reload} />}
          <Revisions dataset={dataset} />
          <Related dataset={dataset} />
        </div>
      </div>
      {change === 'edit' && <EditDialog dataset={dataset} etag={etag} onClose={close} onDone={done} />}
      {change === 'share' && <ShareDialog dataset={dataset} onClose={close} onDone={done} />}
      {change === 'delete' && <DeleteDialog id={dataset.datasetId} onClose={close} onDone={done} />}
    </>
  );
}

interface ActionsProps {
  readonly dataset: DatasetDetails;
  readonly onChange: (change: 'edit' | 'share' | 'delete') => void;
  readonly reload: () => void;
}

/** Of the owner. What the state of the dataset does not allow, the server refuses with its reason. */
function Actions({ dataset: { datasetId, status }, onChange, reload }: ActionsProps) {
  const canRetry = status.upload.status === 'failed' || status.import.status === 'failed';
  const retry = async (): Promise<void> => {
    try {
      await installer.POST('/datasets/{id}/retry', { params: { path: { id: datasetId } } });
      tellDone(words.retried);
      reload();
    } catch (error) {
      tellProblem(error);
    }
  };
  return (
    <div className="bar actions-left">
      {canRetry && (
        <Button kind="primary" icon="refresh" onPress={() => void retry()}>
          {words.retry}
        </Button>
      )}
      <Button icon="edit" onPress={() => onChange('edit')}>
        {words.edit}
      </Button>
      <Button icon="share" onPress={() => onChange('share')}>
        {words.share}
      </Button>
      <Button icon="upload" onPress={() => go('upload', { revise: datasetId })}>
        {words.revise}
      </Button>
      <Button icon="delete" kind="danger" onPress={() => onChange('delete')}>
        {words.delete}
      </Button>
    </div>
  );
}

interface DeleteProps {
  readonly id: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DeleteDialog({ id, onClose, onDone }: DeleteProps) {
  const [isBusy, setBusy] = useState(false);
  const remove = async (): Promise<void> => {
    setBusy(true);
    try {
      await installer.DELETE('/datasets/{id}', { params: { path: { id } } });
      tellDone(texts.datasets.deleted(1));
    } catch (error) {
      tellProblem(error);
    }
    onDone();
  };
  return (
    <Confirm
      title={words.deleteTitle}
      action={words.delete}
      onClose={onClose}
      onConfirm={() => void remove()}
      isBusy={isBusy}
    >
      <p>{texts.datasets.deleteAdvice}</p>
    </Confirm>
  );
}

function Deleted({ id, onBack }: { readonly id: string; readonly onBack: () => void }) {
  const undelete = async (): Promise<void> => {
    try {
      await installer.POST('/datasets/{id}/undelete', { params: { path: { id } } });
      tellDone(words.undeleted);
      onBack();
    } catch (error) {
      tellProblem(error);
    }
  };
  return (
    <>
      <h1 className="hidden-text">{words.deletedTitle}</h1>
      <Empty icon="delete" title={words.deletedTitle} advice={words.deletedAdvice}>
        <Button icon="refresh" onPress={() => void undelete()}>
          {words.undelete}
        </Button>
      </Empty>
    </>
  );
}
