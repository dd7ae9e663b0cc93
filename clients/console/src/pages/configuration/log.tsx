// The recent log of one dataset or one request. What is asked for is in the address.

import { type FormEvent, useEffect, useState } from 'react';
import { useLoad } from '../../api/load.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { Empty, Loading } from '../../components/notices.tsx';
import { AdminProblem } from '../../components/operator.tsx';
import { Time } from '../../components/time.tsx';
import { replace, to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';

const words = texts.log;
const LIMIT = 500;

type Asked = Readonly<Record<string, string>>;
type Entry = Schemas['LogRecord'];

export function Log({ asked }: { readonly asked: Asked }) {
  const { dataset, request } = asked;
  const subject = dataset ? { dataset } : request ? { request } : undefined;
  return (
    <>
      <p>{words.lead}</p>
      <Subject asked={asked} />
      {subject ? <Records subject={subject} /> : <Empty icon="audit" title={words.which} advice={words.whichAdvice} />}
    </>
  );
}

function Subject({ asked }: { readonly asked: Asked }) {
  const [typed, setTyped] = useState(asked);
  const given = JSON.stringify(asked);
  useEffect(() => setTyped(JSON.parse(given) as Asked), [given]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    replace('configuration/log', typed);
  };
  // One of the two.
  const field = (name: 'dataset' | 'request') => (
    <TextField
      label={words.subjects[name]}
      placeholder={words.hints[name]}
      value={typed[name] ?? ''}
      onChange={(text) => setTyped({ [name]: text.trim() })}
    />
  );
  return (
    <search>
      <form className="filters audit-filters" onSubmit={submit}>
        {field('dataset')}
        {field('request')}
        <Button kind="primary" type="submit">
          {words.show}
        </Button>
      </form>
    </search>
  );
}

function Records({ subject }: { readonly subject: { readonly dataset?: string; readonly request?: string } }) {
  const { value, error, isLoading, reload } = useLoad(JSON.stringify(subject), async (signal) => {
    const { data } = await installer.GET('/admin/logs', { params: { query: { ...subject, limit: LIMIT } }, signal });
    return data as Schemas['LogReport'];
  });
  if (error !== undefined) return <AdminProblem error={error} onRetry={reload} />;
  if (!value) return isLoading ? <Loading /> : null;
  const { results, cut, since } = value;
  return (
    <>
      <div className="bar">
        <span role="status">{words.count(results.length, cut)}</span>
        {subject.dataset !== undefined && (
          <a className="button plain" href={to(`problems/dataset/${encodeURIComponent(subject.dataset)}`)}>
            {words.history}
          </a>
        )}
        <Button icon="refresh" onPress={reload}>
          {texts.common.refresh}
        </Button>
      </div>
      {since !== undefined && (
        <p className="hint">
          {words.since} <Time at={since} />
        </p>
      )}
      {results.length === 0 ? (
        <Empty icon="audit" title={words.none} advice={words.noneAdvice} />
      ) : (
        <ol className="attempts" aria-label={words.records}>
          {results.toReversed().map((record) => (
            <Item key={`${record.time} ${JSON.stringify(record)}`} record={record} />
          ))}
        </ol>
      )}
    </>
  );
}

const KINDS: Readonly<Record<string, string>> = { warn: 'busy', error: 'bad', fatal: 'bad' };

function Item({ record: { time, level, message, fields } }: { readonly record: Entry }) {
  return (
    <li className="card">
      <p className="line">
        <span className={`badge ${KINDS[level] ?? ''}`}>{level}</span>
        <strong>{message}</strong>
        <Time at={time} />
      </p>
      <dl className="log-fields">
        {Object.entries(fields).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{textOf(value)}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

/** Of an error, its stack, which begins with its message. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const { stack } = (value ?? {}) as { readonly stack?: unknown };
  return typeof stack === 'string' ? stack : JSON.stringify(value);
}
