// The audit trail, newest first. The filters are in the address.

import { type FormEvent, useEffect, useState } from 'react';
import { LongshoreError } from '../../../../typescript/src/index.ts';
import { usePages } from '../../api/pages.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { Empty, Loading, ProblemView } from '../../components/notices.tsx';
import { AdminProblem } from '../../components/operator.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { replace, to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';

const words = texts.audit;
const PAGE = 200;
const FIELDS = ['actor', 'dataset', 'route', 'outcome', 'from', 'to'] as const;

type Asked = Readonly<Record<string, string>>;
type Item = Schemas['AuditItem'];

export function Trail({ asked }: { readonly asked: Asked }) {
  const filter = Object.fromEntries(FIELDS.flatMap((name) => (asked[name] ? [[name, asked[name]]] : [])));
  const list = usePages(JSON.stringify(filter), async (after, signal) => {
    const query = { ...filter, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const { data } = await installer.GET('/admin/audit', { params: { query }, signal });
    return data as Schemas['AuditReport'];
  });
  const items = list.value?.items ?? [];
  const isInvalid = list.error instanceof LongshoreError && list.error.code === 400;
  return (
    <>
      <Filters asked={asked} />
      <div className="bar">
        <span role="status">{list.value && words.count(items.length, list.value.hasMore)}</span>
        <Button icon="refresh" onPress={list.reload}>
          {texts.common.refresh}
        </Button>
      </div>
      {isInvalid && <ProblemView error={list.error} />}
      {list.error !== undefined && !isInvalid && <AdminProblem error={list.error} onRetry={list.reload} />}
      {!list.value && list.isLoading && <Loading />}
      {list.value && items.length === 0 && (
        <Empty icon="audit" title={words.none} advice={words.noneAdvice}>
          <Button onPress={() => replace('audit')}>{words.clear}</Button>
        </Empty>
      )}
      {items.length > 0 && <Table label={words.title} columns={COLUMNS} rows={items} keyOf={({ id }) => id} />}
      {list.value?.hasMore && (
        <Button onPress={list.more} isDisabled={list.isLoading}>
          {words.more}
        </Button>
      )}
    </>
  );
}

/** What is typed is asked for when the form is sent. */
function Filters({ asked }: { readonly asked: Asked }) {
  const [typed, setTyped] = useState(asked);
  const given = JSON.stringify(asked);
  useEffect(() => setTyped(JSON.parse(given) as Asked), [given]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    replace('audit', typed);
  };
  const field = (name: Exclude<(typeof FIELDS)[number], 'outcome'>) => (
    <TextField
      label={words.fields[name]}
      placeholder={words.hints[name]}
      value={typed[name] ?? ''}
      onChange={(text) => setTyped({ ...typed, [name]: text.trim() })}
    />
  );
  return (
    <search>
      <form className="filters audit-filters" onSubmit={submit}>
        {field('actor')}
        {field('dataset')}
        {field('route')}
        {field('from')}
        {field('to')}
        <Select
          label={words.fields.outcome}
          value={typed.outcome ?? ''}
          options={[['', words.anyOutcome], ...Object.entries(words.outcomes)]}
          onChange={(outcome) => replace('audit', { ...typed, outcome })}
        />
        <Button kind="primary" type="submit">
          {words.show}
        </Button>
      </form>
    </search>
  );
}

const COLUMNS: readonly Column<Item>[] = [
  {
    key: 'what',
    title: words.columns.what,
    cell: ({ method, route, dataset, records, count }) => (
      <span className="two-lines">
        <code title={`${method} ${route}`}>
          {method} {route}
        </code>
        <span className="hint">
          {dataset === undefined ? (
            words.records(Object.entries(records), count)
          ) : (
            <a href={to(`problems/dataset/${dataset}`)}>{dataset}</a>
          )}
        </span>
      </span>
    ),
  },
  {
    key: 'who',
    title: words.columns.who,
    cell: ({ actor, address, at, outcome }) => (
      <span className="two-lines who">
        <span>{words.actorOf(words.actors[actor.kind], actor.id)}</span>
        <span className="hint wide-only">{address}</span>
        <span className="hint narrow-only">
          {outcome === 'done' ? '' : `${words.outcomes[outcome]}, `}
          <Time at={at} />
        </span>
      </span>
    ),
  },
  {
    key: 'outcome',
    title: words.columns.outcome,
    wideOnly: true,
    cell: ({ outcome, status }) => (
      <span className="whole">
        <span className={`badge ${outcome === 'done' ? 'good' : 'bad'}`}>{words.outcomes[outcome]}</span>{' '}
        <span className="hint">{status}</span>
      </span>
    ),
  },
  { key: 'kind', title: words.columns.kind, wideOnly: true, cell: ({ kind }) => words.kinds[kind] },
  { key: 'service', title: words.columns.service, wideOnly: true, cell: ({ service }) => service },
  { key: 'at', title: words.columns.at, wideOnly: true, cell: ({ at }) => <Time at={at} /> },
];
