// The first rows of a table, with the numbers of their lines.

import { texts } from '../texts.ts';

const words = texts.preview;

interface Props {
  /** Says what the table has, for screen readers. */
  readonly label: string;
  readonly rows: readonly (readonly string[])[];
  /** Names of the columns, as far as they are known. */
  readonly names?: readonly string[];
}

export function Preview({ label, rows, names = [] }: Props) {
  const columns = Math.max(1, ...rows.map((row) => row.length));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled with the keyboard
    <section className="preview" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.line}</th>
            {Array.from({ length: columns }, (_, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
              <th key={i} scope="col">
                {names[i] ?? words.column(i + 1)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
            <tr key={i}>
              <th scope="row">{i + 1}</th>
              {Array.from({ length: columns }, (_, j) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                <td key={j}>{row[j]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
