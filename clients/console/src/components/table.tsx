// A table that draws only the rows in view, so 10,000 rows do not stall. All rows have the same height.

import { type ReactNode, useState } from 'react';
import { texts } from '../texts.ts';
import { Icon } from './icons.tsx';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** The table can be sorted by it. */
  readonly sorts?: boolean;
  readonly align?: 'right';
  /** Left out on phones. */
  readonly wideOnly?: boolean;
}

export interface Sorting {
  readonly key: string;
  readonly descending: boolean;
}

interface Props<Row> {
  /** Says what the table has, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly sorting?: Sorting;
  readonly onSort?: (sorting: Sorting) => void;
  readonly selection?: {
    readonly selected: ReadonlySet<string>;
    readonly nameOf: (row: Row) => string;
    readonly onChange: (selected: ReadonlySet<string>) => void;
  };
}

const ROW_PX = 60;
const EXTRA_ROWS = 8;

export function Table<Row>({ label, columns, rows, keyOf, sorting, onSort, selection }: Props<Row>) {
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  const first = Math.max(0, Math.min(Math.floor(top / ROW_PX), rows.length - 1) - EXTRA_ROWS);
  const shown = rows.slice(first, first + Math.ceil(height / ROW_PX) + 2 * EXTRA_ROWS);
  const below = rows.length - first - shown.length;
  const span = columns.length + (selection ? 1 : 0);
  return (
    <section
      className="table"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard
      tabIndex={0}
      ref={(element) => element && setHeight(element.clientHeight)}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
    >
      <table aria-rowcount={rows.length + 1}>
        <caption className="hidden-text">{label}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {selection && (
              <th className="check">
                <Check
                  label={texts.common.selectAll}
                  isOn={rows.length > 0 && rows.every((row) => selection.selected.has(keyOf(row)))}
                  onChange={(isOn) => selection.onChange(new Set(isOn ? rows.map(keyOf) : []))}
                />
              </th>
            )}
            {columns.map((column) => (
              <Head key={column.key} column={column} sorting={sorting} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} span={span} />
          {shown.map((row, i) => {
            const key = keyOf(row);
            return (
              <tr key={key} aria-rowindex={first + i + 2} className={selection?.selected.has(key) ? 'selected' : ''}>
                {selection && (
                  <td className="check">
                    <Check
                      label={texts.common.select(selection.nameOf(row))}
                      isOn={selection.selected.has(key)}
                      onChange={(isOn) => selection.onChange(changed(selection.selected, key, isOn))}
                    />
                  </td>
                )}
                {columns.map((column) => (
                  <td key={column.key} className={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          <Gap rows={below} span={span} />
        </tbody>
      </table>
    </section>
  );
}

/** The space of rows that are not drawn. */
function Gap({ rows, span }: { readonly rows: number; readonly span: number }) {
  if (rows <= 0) return null;
  return (
    <tr className="gap">
      <td colSpan={span} style={{ height: rows * ROW_PX }} />
    </tr>
  );
}

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sorting: Sorting | undefined;
  readonly onSort: ((sorting: Sorting) => void) | undefined;
}

function Head<Row>({ column, sorting, onSort }: HeadProps<Row>) {
  const { key, title, sorts } = column;
  if (!sorts || !onSort) return <th className={classOf(column)}>{title}</th>;
  const isSorted = sorting?.key === key;
  const isDescending = isSorted && sorting.descending;
  return (
    <th className={classOf(column)} aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : 'none'}>
      <button
        type="button"
        title={texts.common.sortBy(title)}
        onClick={() => onSort({ key, descending: isSorted && !isDescending })}
      >
        {title}
        {isSorted && <Icon name={isDescending ? 'down' : 'up'} />}
      </button>
    </th>
  );
}

interface CheckProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

const Check = ({ label, isOn, onChange }: CheckProps) => (
  <input type="checkbox" aria-label={label} checked={isOn} onChange={({ target }) => onChange(target.checked)} />
);

const classOf = ({ align, wideOnly }: Column<never>): string =>
  [align === 'right' ? 'right' : '', wideOnly ? 'wide-only' : ''].join(' ').trim();

function changed(selected: ReadonlySet<string>, key: string, isOn: boolean): ReadonlySet<string> {
  const next = new Set(selected);
  if (isOn) next.add(key);
  else next.delete(key);
  return next;
}
