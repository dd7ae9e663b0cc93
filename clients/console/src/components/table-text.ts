// The first rows of a table in text: its separator, and cells in quotes.

export interface TableStart {
  readonly rows: readonly (readonly string[])[];
  /** There are rows after these. */
  readonly isCut: boolean;
}

const ROWS = 100;
const COLUMNS = 50;
const SEPARATORS = ['\t', ',', ';'] as const;

export const isTabular = (name: string): boolean => /\.(txt|tsv|tab|csv)$/i.test(name);

/** @param isPart the text goes on, so its last row may be cut */
export function tableStart(text: string, isPart: boolean): TableStart {
  const rows = rowsOf(text, separatorOf(text));
  const whole = isPart && rows.length <= ROWS ? rows.slice(0, -1) : rows;
  return { rows: whole.slice(0, ROWS).map((row) => row.slice(0, COLUMNS)), isCut: isPart || rows.length > ROWS };
}

function separatorOf(text: string): string {
  const [line = ''] = text.split('\n', 1);
  const [best = '\t'] = [...SEPARATORS].sort((a, b) => line.split(b).length - line.split(a).length);
  return best;
}

/** One row more than is shown, if there is. */
function rowsOf(text: string, separator: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endRow = (): void => {
    row.push(cell.replace(/\r$/, ''));
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
    cell = '';
  };
  for (let i = 0; i < text.length && rows.length <= ROWS; i += 1) {
    const character = text[i];
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text[i + 1] === '"') {
        cell += '"';
        i += 1;
      } else isQuoted = false;
    } else if (character === '"' && cell === '') isQuoted = true;
    else if (character === separator) {
      row.push(cell);
      cell = '';
    } else if (character === '\n') endRow();
    else cell += character;
  }
  if (cell !== '' || row.length > 0) endRow();
  return rows;
}
