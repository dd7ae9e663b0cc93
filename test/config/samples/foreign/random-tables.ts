// Tables made at random, by a seed: what is in them, and how they are written. Python's csv module writes them.

export interface TableSettings {
  readonly file: string;
  readonly delimiter: string;
  readonly quotechar: string;
  readonly quoting: 'MINIMAL' | 'ALL' | 'NONNUMERIC' | 'NONE';
  readonly doublequote: boolean;
  readonly escapechar: string | null;
  readonly lineterminator: string;
  readonly encoding: string;
}

export interface RandomTable {
  readonly settings: TableSettings;
  /** With the header first. */
  readonly rows: readonly (readonly string[])[];
}

/** The same seed and number give the same table. */
export function randomTable(seed: number, number: number): RandomTable {
  const random = new Random(seed * 1_000_003 + number);
  return random.chance(0.4) ? usualTable(random) : oddTable(random);
}

/** As most tables are: names without marks, the usual separators and quotes, text in UTF-8. */
function usualTable(random: Random): RandomTable {
  const delimiter = random.pick([',', ';', '\t', '|']);
  const settings: TableSettings = {
    file: `t${random.pick(['.csv', '.tsv', '.txt'])}`,
    delimiter,
    quotechar: '"',
    quoting: random.pick(['MINIMAL', 'ALL', 'NONNUMERIC']),
    doublequote: true,
    escapechar: null,
    lineterminator: random.pick(['\n', '\r\n', '\r']),
    encoding: random.pick(['utf-8', 'utf-8-sig', 'utf-16']),
  };
  const columns = random.chance(0.05) ? random.from(100, 300) : random.from(2, 20);
  const kinds = Array.from({ length: columns }, () => random.pick([...PLAIN, 'list', 'said'] as const));
  const decimal = random.pick(['.', ',']);
  const header = kinds.map((_, i) => `${random.pick(['id', 'name', 'Größe', 'dose (µg)', '日本', 'Home Town'])}_${i}`);
  const data = Array.from({ length: random.from(1, 15) }, () => kinds.map((kind) => cellOf(random, kind, decimal)));
  return { settings, rows: [header, ...data] };
}

function oddTable(random: Random): RandomTable {
  const settings = randomSettings(random);
  // A single column has no separator in it: with a comma in every line it is a table of two columns to anybody.
  const columns = random.chance(0.1) ? random.from(2, 300) : random.from(2, 12);
  const height = columns > 50 ? random.from(1, 3) : random.from(1, 20);
  const decimal = settings.delimiter === ',' ? random.pick(['.', '.', '.', ',']) : random.pick(['.', ',']);
  const wild = random.chance(0.4);
  const kinds = Array.from({ length: columns }, () => random.pick(wild ? [...PLAIN, ...ODD] : PLAIN));
  const header = Array.from({ length: columns }, (_, i) => headerName(random, i, decimal));
  const data = Array.from({ length: height }, () => kinds.map((kind) => cellOf(random, kind, decimal)));
  return { settings, rows: [header, ...data] };
}

const PLAIN = ['integer', 'decimal', 'word', 'words', 'empty', 'date'] as const;
const ODD = ['mixed', 'said', 'quoted', 'list', 'letters', 'lines', 'path'] as const;
type Kind = (typeof PLAIN)[number] | (typeof ODD)[number];

function randomSettings(random: Random): TableSettings {
  const delimiter = random.pick([',', ',', ',', ';', ';', '\t', '\t', '|', ':', ' ']);
  const quoting = random.pick(['MINIMAL', 'MINIMAL', 'MINIMAL', 'ALL', 'NONNUMERIC', 'NONE'] as const);
  const escaped = quoting === 'NONE' || random.chance(0.1);
  return {
    file: `t${random.pick(['.csv', '.csv', '.tsv', '.txt'])}`,
    delimiter,
    quotechar: random.chance(0.1) ? "'" : '"',
    quoting,
    doublequote: !escaped,
    escapechar: escaped ? '\\' : null,
    lineterminator: random.pick(['\n', '\n', '\r\n', '\r\n', '\r']),
    encoding: random.pick([
      ...Array<string>(10).fill('utf-8'),
      ...['utf-8-sig', 'utf-8-sig', 'utf-16', 'utf-16', 'utf-16-le', 'latin-1', 'cp1252', 'shift_jis', 'gbk'],
    ]),
  };
}

const WORDS = [
  'alpha',
  'beta',
  'Town',
  'PF3D7_01',
  'yes',
  'NA',
  'None',
  'x',
  'Größe',
  'Málaga',
  '日本',
  '中文',
  "O'Neil",
  '5" pipe',
];

function headerName(random: Random, i: number, decimal: string): string {
  if (random.chance(0.75)) return `${random.pick(['id', 'name', 'conc', 'sex', 'Größe', 'dose (µg)'])}_${i}`;
  if (random.chance(0.05)) return random.pick(['', ' ', 'name', 'name']);
  const odd = [
    `conc ${i}${decimal}5`,
    `a, ${i}`,
    `a;${i}`,
    `say "${i}"`,
    `'${i}'`,
    ` ${i}`,
    `${i}`,
    `__proto__${i}`,
    `l\n${i}`,
    `日本${i}`,
  ];
  return random.pick(odd);
}

function cellOf(random: Random, kind: Kind, decimal: string): string {
  const words = (most: number): string =>
    Array.from({ length: random.from(1, most) }, () => random.pick(WORDS)).join(' ');
  switch (kind) {
    case 'integer':
      return String(random.from(-5, 5_000));
    case 'decimal':
      return `${random.from(0, 99)}${decimal}${random.from(0, 999)}`;
    case 'word':
      return random.pick(WORDS);
    case 'words':
      return words(4);
    case 'empty':
      return random.chance(0.6) ? '' : random.pick(WORDS);
    case 'date':
      return `2024-0${random.from(1, 9)}-1${random.from(0, 9)}${random.pick(['', ' 10:11:12'])}`;
    case 'quoted':
      return random.pick(['"x"', "'x'", 'say "hi"', '""', '"', "'", 'a "b', ' "x"', '"x" y']);
    case 'said':
      return random.pick(['say "hi"', '5" pipe, long', "O'Neil", 'x']);
    case 'list':
      return Array.from({ length: random.from(1, 4) }, () => random.pick(WORDS)).join(
        random.pick([',', ';', '|', '\t', ', ']),
      );
    case 'lines':
      return words(3).replaceAll(' ', random.pick(['\n', '\r\n', '\r', ' ']));
    case 'path':
      return random.pick(['C:\\dir\\x', '\\\\host\\share', 'a\\', '\\"', '\\,', '/usr/bin']);
    case 'letters':
      return Array.from({ length: random.from(0, 8) }, () =>
        random.pick([...',;|\t" \'\\abé日😀\u2028\u00a0\ufeff\ufffd.-']),
      ).join('');
    case 'mixed':
      return cellOf(random, random.pick([...PLAIN, ...ODD.filter((odd) => odd !== 'mixed')]), decimal);
    default:
      return kind satisfies never;
  }
}

/** Mulberry32. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  from(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.from(0, items.length - 1)] as T;
  }
}
