// Every setting of the process that answers, with what changes it. What is searched for is in the address.

import { useMemo } from 'react';
import { useLoad } from '../../api/load.ts';
import type { Schemas } from '../../api/schemas.ts';
import { installer } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { Empty, Loading } from '../../components/notices.tsx';
import { AdminProblem } from '../../components/operator.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { replace } from '../../shell/route.ts';
import { texts } from '../../texts.ts';

const words = texts.configuration;

type Asked = Readonly<Record<string, string>>;
type Setting = Schemas['RunningSetting'];

export function Settings({ asked }: { readonly asked: Asked }) {
  const { value, error, isLoading, reload } = useLoad('configuration', async (signal) => {
    const { data } = await installer.GET('/admin/config', { signal });
    return data as Schemas['RunningConfiguration'];
  });
  const { q = '', only = '' } = asked;
  const found = useMemo(() => (value ? value.settings.filter((one) => matches(one, q, only)) : []), [value, q, only]);
  const ask = (more: Asked): void => replace('configuration/settings', { ...asked, ...more });
  if (error !== undefined) return <AdminProblem error={error} onRetry={reload} />;
  if (!value) return isLoading ? <Loading /> : null;
  return (
    <>
      <p className="hint message">
        {words.readFrom(value.file, value.generation)} <Time at={value.readAt} />
      </p>
      <search className="filters">
        <TextField
          label={words.search}
          placeholder={words.searchHint}
          value={q}
          onChange={(text) => ask({ q: text })}
        />
        <Select
          label={words.only}
          value={only}
          options={Object.entries(words.kinds)}
          onChange={(one) => ask({ only: one })}
        />
      </search>
      <div className="bar">
        <span role="status">{words.count(found.length, value.settings.length)}</span>
        <Button icon="refresh" onPress={reload}>
          {texts.common.refresh}
        </Button>
      </div>
      {found.length === 0 ? (
        <Empty icon="configuration" title={words.none} advice={words.noneAdvice}>
          <Button onPress={() => replace('configuration/settings')}>{words.clear}</Button>
        </Empty>
      ) : (
        <Table label={words.viewNames.settings} columns={COLUMNS} rows={found} keyOf={({ path }) => path} />
      )}
    </>
  );
}

/** All words have to be in the path or the value. */
function matches({ path, value, live, untilReload }: Setting, q: string, only: string): boolean {
  if (only === 'live' && live === undefined) return false;
  if (only === 'restart' && live !== undefined) return false;
  if (only === 'set' && !untilReload) return false;
  const text = `${path} ${shown(value)}`.toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

const shown = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : JSON.stringify(value));

const COLUMNS: readonly Column<Setting>[] = [
  {
    key: 'setting',
    title: words.columns.setting,
    cell: ({ path, value, untilReload }) => (
      <span className="two-lines setting">
        <code title={path}>
          <bdi>{path}</bdi>
        </code>
        <span className="hint narrow-only" title={shown(value)}>
          {untilReload ? `${shown(value)}, ${words.untilReload}` : shown(value)}
        </span>
      </span>
    ),
  },
  {
    key: 'value',
    title: words.columns.value,
    wideOnly: true,
    cell: ({ value }) => (
      <span className="two-lines setting">
        <code title={shown(value)}>{shown(value)}</code>
      </span>
    ),
  },
  {
    key: 'change',
    title: words.columns.change,
    wideOnly: true,
    cell: ({ live, untilReload }) =>
      untilReload ? (
        <span className="badge busy">{words.untilReload}</span>
      ) : (
        <>
          {live === undefined ? words.restart : words.reloads}
          {live !== undefined && <span className="hint"> {live}</span>}
        </>
      ),
  },
];
