// My datasets: search, filters, order, live status, quota; sharing and deleting several at once. What is asked for is in the
// address, so it survives a reload and can be sent to others.

import { useState } from 'react';
import type { ListingItem, ListQuery } from '../../../../typescript/src/index.ts';
import { useLoad } from '../../api/load.ts';
import { installer, session } from '../../api/session.ts';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { bytes, personName, typeName } from '../../components/format.ts';
import { Empty, Loading, ProblemView } from '../../components/notices.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { StatusBadge } from '../../components/status.tsx';
import { type Column, type Sorting, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { replace, to, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { DeleteDialog, ShareDialog } from './changes.tsx';
import { Filters } from './filters.tsx';
import { useDatasets } from './list.ts';

const words = texts.datasets;
const NEWEST_FIRST: Sorting = { key: 'created', descending: true };

export default function DatasetsPage() {
  const { query } = useRoute();
  const self = useStore(session)?.self.userId;
  const asked = Object.fromEntries(query);
  const sorting: Sorting = query.has('sort')
    ? { key: query.get('sort') ?? '', descending: query.get('order') === 'desc' }
    : NEWEST_FIRST;
  const list = useDatasets({ sort: 'created', order: 'desc', ...asked } as ListQuery);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [change, setChange] = useState<'share' | 'delete'>();
  const items = list.value?.items ?? [];
  const chosen = items.filter(({ datasetId }) => selected.has(datasetId));
  const isOwn = chosen.every(({ owner }) => owner.userId === self);
  const ask = (more: Readonly<Record<string, string>>): void => replace('datasets', { ...asked, ...more });
  const Changing = change === 'share' ? ShareDialog : DeleteDialog;
  return (
    <>
      <PageHead title={words.title} lead={words.lead}>
        <Quota items={list.value?.items} />
      </PageHead>
      <Filters asked={asked} onChange={ask} />
      <div className="bar">
        <span role="status">
          {selected.size > 0
            ? words.selected(chosen.length)
            : list.value && words.count(items.length, list.value.total)}
        </span>
        {chosen.length > 0 && !isOwn && <span className="hint">{words.ownOnly}</span>}
        <Button icon="share" isDisabled={chosen.length === 0 || !isOwn} onPress={() => setChange('share')}>
          {words.share}
        </Button>
        <Button icon="delete" isDisabled={chosen.length === 0 || !isOwn} onPress={() => setChange('delete')}>
          {words.delete}
        </Button>
        <Button icon="refresh" onPress={list.reload}>
          {texts.common.refresh}
        </Button>
      </div>
      {list.error !== undefined && <ProblemView error={list.error} onRetry={list.reload} />}
      {list.value === undefined && list.isLoading && <Loading />}
      {list.value && items.length === 0 && (
        <Nothing isFiltered={['q', 'status', 'ownership'].some((name) => query.has(name))} />
      )}
      {items.length > 0 && (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={items}
          keyOf={({ datasetId }) => datasetId}
          sorting={sorting}
          onSort={({ key, descending }) => ask({ sort: key, order: descending ? 'desc' : 'asc' })}
          selection={{ selected, nameOf: ({ name }) => name, onChange: setSelected }}
        />
      )}
      {list.value?.hasMore && (
        <Button onPress={list.more} isDisabled={list.isLoading}>
          {words.more}
        </Button>
      )}
      {change && (
        <Changing
          datasets={chosen}
          onClose={() => setChange(undefined)}
          onDone={(left) => {
            setChange(undefined);
            setSelected(new Set(left.map(({ datasetId }) => datasetId)));
            list.reload();
          }}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<ListingItem>[] = [
  {
    key: 'name',
    title: words.columns.name,
    sorts: true,
    cell: ({ datasetId, name, summary }) => (
      <span className="dataset-name">
        <a href={to(`dataset/${datasetId}`)}>{name}</a>
        <span className="hint">{summary}</span>
      </span>
    ),
  },
  { key: 'status', title: words.columns.status, cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'type',
    title: words.columns.type,
    wideOnly: true,
    cell: ({ type }) => typeName(type),
  },
  {
    key: 'size',
    title: words.columns.size,
    sorts: true,
    align: 'right',
    wideOnly: true,
    cell: ({ fileSizeTotal }) => bytes(fileSizeTotal),
  },
  { key: 'shared', title: words.columns.shared, wideOnly: true, cell: (item) => <SharedWith item={item} /> },
  {
    key: 'created',
    title: words.columns.created,
    sorts: true,
    wideOnly: true,
    cell: ({ created }) => <Time at={created} />,
  },
];

function SharedWith({ item: { owner, shares } }: { readonly item: ListingItem }) {
  const self = useStore(session)?.self.userId;
  if (owner.userId !== self) return words.ownedBy(personName(owner) || texts.shell.userOf(owner.userId));
  return words.sharedWith(shares.length);
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  if (!isFiltered)
    return (
      <Empty icon="datasets" title={words.none} advice={words.noneAdvice}>
        <a className="button primary" href={to('upload')}>
          {words.uploadOne}
        </a>
      </Empty>
    );
  return (
    <Empty icon="datasets" title={words.noneFound} advice={words.noneFoundAdvice}>
      <Button onPress={() => replace('datasets')}>{words.clear}</Button>
    </Empty>
  );
}

/** @param items uploads and deletions change it */
function Quota({ items }: { readonly items: readonly ListingItem[] | undefined }) {
  const isGuest = useStore(session)?.self.role === 'guest';
  const total = items?.reduce((sum, { fileSizeTotal }) => sum + fileSizeTotal, 0);
  const { value } = useLoad(`quota ${isGuest} ${items?.length} ${total}`, async (signal) =>
    isGuest ? undefined : (await installer.GET('/users/self/meta', { signal })).data?.quota,
  );
  if (!value) return null;
  return (
    <label className="quota">
      {words.quota}
      <progress value={value.usage} max={value.limit} />
      <span className="hint">{words.quotaUsed(bytes(value.usage), bytes(value.limit))}</span>
    </label>
  );
}
