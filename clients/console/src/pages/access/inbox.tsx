// The requests that the caller decides about, and the people who have access by request.

import { type FormEvent, useState } from 'react';
import { useDatasetEvents, useThrottled } from '../../api/events.ts';
import { useLoad } from '../../api/load.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { personName } from '../../components/format.ts';
import { Empty, Loading, ProblemView, wordsOf } from '../../components/notices.tsx';
import { Time } from '../../components/time.tsx';
import { tellDone } from '../../components/toasts.tsx';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import {
  approve,
  deny,
  entryIn,
  keyOf,
  MOST_MANAGED,
  type Named,
  nameIn,
  type Request,
  requestsOf,
  type Service,
  useEntries,
} from './requests.ts';

const words = texts.access;
const FIELDS = Object.keys(words.fields) as (keyof typeof words.fields)[];
const DAY_MS = 86_400_000;

interface Deciding {
  readonly request: Request;
  readonly verdict: 'approve' | 'deny';
}

const nameOf = ({ user }: Request): string => personName(user) || texts.shell.userOf(user.userId);

export function Inbox({ service }: { readonly service: Service }) {
  const { value, error, isLoading, reload } = useLoad('requests', async (signal) => {
    const pending = await requestsOf(service, 'requested', signal);
    return { pending, approved: await requestsOf(service, 'approved', signal) };
  });
  const entries = useEntries(service).value;
  const [deciding, setDeciding] = useState<Deciding>();
  const reloadSoon = useThrottled(reload);
  useDatasetEvents((event) => {
    if (event === undefined || event.kind.startsWith('access-')) reloadSoon();
  });
  if (error !== undefined) return <ProblemView error={error} onRetry={reload} />;
  if (!value) return isLoading ? <Loading /> : null;
  const { pending, approved } = value;
  return (
    <>
      <section className="stack" aria-label={words.toDecide}>
        <h2>{words.toDecide}</h2>
        {pending.isCut && <p className="hint">{words.notAll(MOST_MANAGED)}</p>}
        {pending.requests.length === 0 && <Empty icon="access" title={words.nothing} advice={words.nothingAdvice} />}
        {pending.requests.map((request) => (
          <article key={keyOf(request)} className="card">
            <div>
              <h3>{words.wants(nameOf(request))}</h3>
              <p className="hint">
                <Dataset id={request.datasetId} entries={entries} />{' '}
                {[request.user.organization, request.user.email].filter((text) => text !== '').join(', ')}
              </p>
            </div>
            <dl className="facts">
              {FIELDS.filter((field) => request[field] !== '').map((field) => (
                <div key={field}>
                  <dt>{words.fields[field]}</dt>
                  <dd>{request[field]}</dd>
                </div>
              ))}
            </dl>
            <div className="actions">
              <Button
                kind="danger"
                aria-label={words.denyFor(nameOf(request))}
                onPress={() => setDeciding({ request, verdict: 'deny' })}
              >
                {words.deny}
              </Button>
              <Button
                kind="primary"
                aria-label={words.approveFor(nameOf(request))}
                onPress={() => setDeciding({ request, verdict: 'approve' })}
              >
                {words.approve}
              </Button>
            </div>
          </article>
        ))}
      </section>
      <section className="card" aria-label={words.current}>
        <h2>{words.current}</h2>
        {approved.requests.length === 0 && <p className="hint">{words.currentNone}</p>}
        <ul className="file-list" aria-label={words.current}>
          {approved.requests.map((request) => (
            <li key={keyOf(request)}>
              <div className="what">
                <strong>{nameOf(request)}</strong>
                <span className="hint">
                  {nameIn(entries, request.datasetId)} · <Until request={request} />
                </span>
              </div>
              <Button
                aria-label={words.endFor(nameOf(request))}
                onPress={() => setDeciding({ request, verdict: 'deny' })}
              >
                {words.end}
              </Button>
            </li>
          ))}
        </ul>
      </section>
      {deciding && (
        <Decide
          service={service}
          {...deciding}
          onClose={() => setDeciding(undefined)}
          onDone={() => {
            setDeciding(undefined);
            reload();
          }}
        />
      )}
    </>
  );
}

interface DatasetProps {
  readonly id: string;
  readonly entries: readonly Named[] | undefined;
}

/** Curated datasets have no page. */
function Dataset({ id, entries }: DatasetProps) {
  const name = nameIn(entries, id);
  return entryIn(entries, id)?.isUserStudy === false ? name : <a href={to(`dataset/${id}`)}>{name}</a>;
}

function Until({ request: { startDate, duration = -1 } }: { readonly request: Request }) {
  if (startDate === undefined || duration < 0) return words.noEnd;
  const end = new Date(Date.parse(startDate) + duration * DAY_MS);
  return (
    <>
      {end.getTime() <= Date.now() ? words.ended : words.until} <Time at={end.toISOString()} />
    </>
  );
}

interface DecideProps extends Deciding {
  readonly service: Service;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function Decide({ service, request, verdict, onClose, onDone }: DecideProps) {
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string>();
  const name = nameOf(request);
  const isApproval = verdict === 'approve';
  const decide = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const given = text.trim();
    if (isApproval && given !== '' && !/^[1-9]\d{0,4}$/.test(given)) return setFault(words.daysNeeded);
    try {
      if (isApproval) await approve(service, keyOf(request), given === '' ? -1 : Number(given));
      else await deny(service, keyOf(request), given);
      tellDone(isApproval ? words.approved(name) : words.denied(name));
      onDone();
    } catch (error) {
      setFault(wordsOf(error).text);
    }
  };
  return (
    <Dialog title={isApproval ? words.approveTitle(name) : words.denyTitle(name)} onClose={onClose}>
      <form className="dialog-form" noValidate onSubmit={(event) => void decide(event)}>
        <TextField
          autoFocus
          label={isApproval ? words.days : words.reason}
          hint={isApproval ? words.daysHint : words.reasonHint}
          value={text}
          onChange={setText}
          faults={fault === undefined ? [] : [fault]}
          {...(isApproval ? { inputMode: 'numeric' } : { lines: 3 })}
        />
        <div className="actions">
          <Button onPress={onClose}>{texts.common.cancel}</Button>
          <Button kind={isApproval ? 'primary' : 'danger'} type="submit">
            {isApproval ? words.approve : words.deny}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
