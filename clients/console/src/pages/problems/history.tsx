// The life of one dataset, newest first: each attempt of each lane with what its scripts printed, and the requests that changed it.

import { LongshoreError } from '../../../../typescript/src/index.ts';
import { usePages } from '../../api/pages.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { milliseconds } from '../../components/format.ts';
import { Empty, Loading, ProblemView } from '../../components/notices.tsx';
import { Time } from '../../components/time.tsx';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';

const words = texts.history;
const PAGE = 100;

type Entry = Schemas['HistoryEntry'];

export function DatasetHistory({ id }: { readonly id: string }) {
  const list = usePages(id, async (after, signal) => {
    const query = { order: 'newest-first', limit: PAGE, ...(after === undefined ? {} : { after }) } as const;
    const { data } = await installer.GET('/admin/datasets/{id}/history', { params: { path: { id }, query }, signal });
    return data as Schemas['DatasetHistory'];
  });
  const isUnknown = list.error instanceof LongshoreError && list.error.code === 404;
  return (
    <>
      <div className="page-head">
        <div>
          <p>
            <a href={to('problems/list')}>{words.back}</a>
          </p>
          <h1>{words.title(id)}</h1>
          <p>{words.lead}</p>
        </div>
        <Button icon="refresh" onPress={list.reload}>
          {texts.common.refresh}
        </Button>
      </div>
      {isUnknown && <Empty icon="audit" title={words.none} advice={words.noneAdvice} />}
      {list.error !== undefined && !isUnknown && <ProblemView error={list.error} onRetry={list.reload} />}
      {!list.value && list.isLoading && <Loading />}
      {list.value && (
        <ol className="attempts" aria-label={words.title(id)}>
          {list.value.items.map((entry) => (
            <Item key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
      {list.value?.hasMore && (
        <Button onPress={list.more} isDisabled={list.isLoading}>
          {words.more}
        </Button>
      )}
    </>
  );
}

const GOOD = ['done', 'retried'];
const WAITING = ['retry', 'paused', 'returned'];
const kindOf = (outcome: string): string =>
  GOOD.includes(outcome) ? 'good' : WAITING.includes(outcome) ? 'busy' : 'bad';

function Item({ entry: { at, job, request } }: { readonly entry: Entry }) {
  if (job) {
    const { lane, outcome, attempt, ms, message, calls = [], process } = job;
    return (
      <li className="card">
        <p className="line">
          <strong>{texts.operate.lanes[lane]}</strong>
          <span className={`badge ${kindOf(outcome)}`}>{words.outcomes[outcome]}</span>
          {attempt !== undefined && <span>{words.attempt(attempt)}</span>}
          {ms !== undefined && <span className="hint">{milliseconds(ms)}</span>}
          <Time at={at} />
        </p>
        {message !== undefined && <p className="message">{message}</p>}
        {calls.map((call, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the calls of an attempt do not change
          <Call key={i} call={call} said={message} />
        ))}
        {process && <p className="hint">{words.process(process.host, process.pid)}</p>}
      </li>
    );
  }
  if (!request) return null;
  const { actor, method, route, outcome, status } = request;
  return (
    <li className="card">
      <p className="line">
        <strong>{texts.audit.actorOf(texts.audit.actors[actor.kind], actor.id)}</strong>
        <code>
          {method} {route}
        </code>
        <span className={`badge ${outcome === 'done' ? 'good' : 'bad'}`}>{texts.audit.outcomes[outcome]}</span>
        {status !== undefined && <span className="hint">{status}</span>}
        <Time at={at} />
      </p>
    </li>
  );
}

interface CallProps {
  readonly call: Schemas['PluginCall'];
  /** The message of the attempt. */
  readonly said: string | undefined;
}

function Call({ call, said }: CallProps) {
  const { plugin, target, ms, outcome, message, exitCode, output } = call;
  const facts = [plugin, target, outcome, exitCode === undefined ? undefined : words.exitCode(exitCode)];
  return (
    <details open={outcome !== 'success'}>
      <summary>
        <strong>{call.call}</strong> {facts.filter((fact) => fact !== undefined).join(', ')}{' '}
        <span className="hint">{milliseconds(ms)}</span>
      </summary>
      {message !== undefined && message !== said && <p className="message">{message}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard */}
      {output !== undefined ? <pre tabIndex={0}>{output}</pre> : <p className="hint">{words.noOutput}</p>}
    </details>
  );
}
