// Problems one by one, the oldest first. Selected ones, or all that match, are retried or discarded.

import { useState } from 'react';
import { usePages } from '../../api/pages.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { typeName } from '../../components/format.ts';
import { Empty, Loading } from '../../components/notices.tsx';
import { AdminProblem, useMayChange } from '../../components/operator.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { to } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { type Asked, filterOf, type Order } from './asked.ts';
import { OrderDialog, type OrderKind } from './order.tsx';

const words = texts.problems;
const PAGE = 500;

type Step = Schemas['FailedStep'];

export function ProblemList({ asked }: { readonly asked: Asked }) {
  const mayChange = useMayChange();
  const filter = filterOf(asked);
  const list = usePages(JSON.stringify(filter), async (after, signal) => {
    const query = { ...filter, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const { data } = await installer.GET('/admin/problems', { params: { query }, signal });
    return data as Schemas['FailedSteps'];
  });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [order, setOrder] = useState<{ readonly kind: OrderKind; readonly order: Order }>();
  const items = list.value?.items ?? [];
  const chosen = items.filter(({ id }) => selected.has(id)).map(({ id }) => id);
  const what: Order = chosen.length > 0 ? { ids: chosen } : filter;
  const isDisabled = !mayChange || items.length === 0;
  const all = chosen.length === 0;
  if (list.error !== undefined) return <AdminProblem error={list.error} onRetry={list.reload} />;
  return (
    <>
      <div className="bar">
        <span role="status">
          {all ? list.value && words.count(items.length, list.value.hasMore) : words.selected(chosen.length)}
        </span>
        <Button
          kind="primary"
          icon="refresh"
          isDisabled={isDisabled}
          onPress={() => setOrder({ kind: 'retry', order: what })}
        >
          {all ? words.retryAll : words.retry}
        </Button>
        <Button icon="delete" isDisabled={isDisabled} onPress={() => setOrder({ kind: 'discard', order: what })}>
          {all ? words.discardAll : words.discard}
        </Button>
        <Button icon="refresh" onPress={list.reload}>
          {texts.common.refresh}
        </Button>
      </div>
      {list.value === undefined && list.isLoading && <Loading />}
      {list.value && items.length === 0 && (
        <Empty icon="done" title={words.noneFound} advice={words.noneFoundAdvice}>
          <a className="button plain" href={to('problems/list')}>
            {words.clear}
          </a>
        </Empty>
      )}
      {items.length > 0 && (
        <Table
          label={words.viewNames.list}
          columns={COLUMNS}
          rows={items}
          keyOf={({ id }) => id}
          selection={{ selected, nameOf: ({ id }) => id, onChange: setSelected }}
        />
      )}
      {list.value?.hasMore && (
        <Button onPress={list.more} isDisabled={list.isLoading}>
          {words.more}
        </Button>
      )}
      {order && (
        <OrderDialog
          {...order}
          onClose={() => setOrder(undefined)}
          onDone={() => {
            setSelected(new Set());
            list.reload();
          }}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<Step>[] = [
  {
    key: 'message',
    title: words.columns.problem,
    cell: ({ message, datasetId, name, installTarget, id }) => (
      <span className="two-lines">
        {datasetId === undefined ? (
          <span>{id}</span>
        ) : (
          <a href={to(`problems/dataset/${datasetId}`)} title={datasetId}>
            {name ?? datasetId}
          </a>
        )}
        <span className="hint" title={message}>
          {installTarget === undefined ? message : `${installTarget}: ${message}`}
        </span>
      </span>
    ),
  },
  {
    key: 'state',
    title: words.columns.state,
    wideOnly: true,
    cell: ({ state }) => <span className={`badge ${state === 'delayed' ? 'busy' : 'bad'}`}>{words.states[state]}</span>,
  },
  { key: 'lane', title: words.lane, wideOnly: true, cell: ({ lane }) => texts.operate.lanes[lane] },
  { key: 'type', title: words.columns.type, wideOnly: true, cell: ({ type }) => typeName(type ?? '') },
  {
    key: 'owner',
    title: words.columns.owner,
    wideOnly: true,
    cell: ({ owner }) => (owner === undefined ? '' : <span className="whole">{texts.shell.userOf(owner)}</span>),
  },
  { key: 'since', title: words.columns.since, wideOnly: true, cell: ({ since }) => <Time at={since} /> },
];
