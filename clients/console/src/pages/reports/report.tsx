// One report: how far it is, its results, and what the person can do with it. Followed while it is being made.

import { useEffect, useState } from 'react';
import { useLoad } from '../../api/load.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Empty, Loading, ProblemView } from '../../components/notices.tsx';
import { tellDone, tellProblem } from '../../components/toasts.tsx';
import { go, to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { StatusBadge } from './badge.tsx';
import { type Job, jobOf, type Service, stderrOf, useStatuses } from './jobs.ts';
import { NotesDialog } from './notes.tsx';
import { givenOf } from './options.ts';
import { Results } from './results.tsx';

const words = texts.reports;
const CHOICES: Readonly<Record<string, string>> = words.choices;
const COLUMNS: Readonly<Record<string, string>> = words.columns;

interface Props {
  readonly service: Service;
  readonly id: string;
}

export function Report({ service, id }: Props) {
  const { value, error, isLoading, reload } = useLoad(`report ${id}`, (signal) => jobOf(service, id, signal));
  const status = useStatuses(service, value ? [value] : [])[value?.reportJobID ?? ''];
  useEffect(() => {
    if (status !== undefined && status !== value?.status) reload();
  }, [status, value?.status, reload]);
  return (
    <>
      <a href={to('reports')}>{words.back}</a>
      {error !== undefined && (
        <>
          <h1 className="hidden-text">{words.title}</h1>
          <ProblemView error={error} onRetry={reload} />
        </>
      )}
      {!value && isLoading && <Loading />}
      {value && <Whole service={service} job={value} reload={reload} />}
    </>
  );
}

interface WholeProps {
  readonly service: Service;
  readonly job: Job;
  readonly reload: () => void;
}

function Whole({ service, job, reload }: WholeProps) {
  const { reportJobID: id, queryJobID, status, userMeta } = job;
  const [change, setChange] = useState<'notes' | 'remove'>();
  const attempt = async (work: Promise<unknown>, done: string): Promise<void> => {
    try {
      await work;
      tellDone(done);
    } catch (error) {
      tellProblem(error);
    }
    reload();
  };
  const again = (): Promise<void> => attempt(service.POST('/jobs/{id}', { params: { path: { id } } }), words.requested);
  const retry = (): Promise<void> =>
    attempt(
      service.POST('/jobs', {
        body: { queryJobID, blastConfig: job.blastConfig, addToUserCollection: true },
      }),
      words.asked,
    );
  const remove = async (): Promise<void> => {
    try {
      await service.DELETE('/jobs/{id}', { params: { path: { id } } });
      tellDone(words.removed);
      go('reports');
    } catch (error) {
      tellProblem(error);
      setChange(undefined);
    }
  };
  return (
    <>
      <div className="page-head">
        <div>
          <h1>{userMeta?.summary ?? words.untitled(id)}</h1>
          {userMeta?.description !== undefined && <p>{userMeta.description}</p>}
        </div>
        <span role="status">
          <StatusBadge status={status} />
        </span>
      </div>
      <div className="bar actions-left">
        {status === 'expired' && (
          <Button kind="primary" icon="refresh" onPress={() => void again()}>
            {words.again}
          </Button>
        )}
        {status === 'failed' && (
          <Button kind="primary" icon="refresh" onPress={() => void retry()}>
            {words.retry}
          </Button>
        )}
        <Button icon="report" onPress={() => go('reports/new', { query: queryJobID })}>
          {words.another}
        </Button>
        <Button icon="edit" onPress={() => setChange('notes')}>
          {words.editNotes}
        </Button>
        <Button icon="close" onPress={() => setChange('remove')}>
          {words.remove}
        </Button>
      </div>
      <div className="dataset">
        <div>
          {status === 'complete' && <Results service={service} job={job} />}
          {status === 'failed' && <Failure service={service} id={id} />}
          {status === 'expired' && <Empty icon="report" title={words.expired} advice={words.expiredAdvice} />}
          {(status === 'queued' || status === 'in-progress') && (
            <Empty icon="report" title={words.beingMade[status]} advice={words.beingMadeAdvice} />
          )}
        </div>
        <div>
          <Facts job={job} />
        </div>
      </div>
      {change === 'notes' && (
        <NotesDialog
          service={service}
          job={job}
          onClose={() => setChange(undefined)}
          onDone={() => {
            setChange(undefined);
            reload();
          }}
        />
      )}
      {change === 'remove' && (
        <Confirm
          title={words.removeTitle}
          action={words.remove}
          onClose={() => setChange(undefined)}
          onConfirm={() => void remove()}
        >
          <p>{words.removeAdvice}</p>
        </Confirm>
      )}
    </>
  );
}

function Failure({ service, id }: Props) {
  const { value, error, reload } = useLoad(`stderr ${id}`, (signal) => stderrOf(service, id, signal));
  return (
    <section className="card" aria-label={words.failed}>
      <h2>{words.failed}</h2>
      <p className="hint">{words.failedAdvice}</p>
      {error !== undefined && <ProblemView error={error} onRetry={reload} />}
      {value !== undefined && <pre>{value}</pre>}
    </section>
  );
}

/** By its name in BLAST+, and in words. */
const columnOf = (name: string): string => (COLUMNS[name] === undefined ? name : `${name} (${COLUMNS[name]})`);

function Facts({ job: { reportJobID, queryJobID, blastConfig } }: { readonly job: Job }) {
  return (
    <section className="card" aria-label={words.facts.title}>
      <dl className="facts">
        <div>
          <dt>{words.format}</dt>
          <dd>{words.formats[blastConfig.formatType]}</dd>
        </div>
        {givenOf(blastConfig).map(([option, text]) => (
          <div key={option}>
            <dt>{words.options[option]}</dt>
            <dd>{option === 'formatFields' ? text.split(' ').map(columnOf).join(', ') : (CHOICES[text] ?? text)}</dd>
          </div>
        ))}
        <div>
          <dt>{words.facts.query}</dt>
          <dd>
            <a href={to('reports', { query: queryJobID })}>
              <code>{queryJobID}</code>
            </a>
          </dd>
        </div>
        <div>
          <dt>{words.facts.id}</dt>
          <dd>
            <code>{reportJobID}</code>
          </dd>
        </div>
      </dl>
    </section>
  );
}
