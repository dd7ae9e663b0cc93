// What the samples take at most: one table, so that what an import accepts can always be installed. Text is measured in
// bytes of UTF-8, as PostgreSQL does.

/** Columns of a primary key share one B-tree entry, which PostgreSQL limits to 2,704 bytes; a dataset id takes some, too. */
export const LIMITS = {
  /** Of an upload, counted while they are found. */
  files: 100_000,
  /** An id of a gene list. */
  geneIdBytes: 80,
  geneIds: 1_000_000,
  /** A word of a gene list, before it is told from an id: what is longer is no list. */
  wordBytes: 8_000,
  /** A cell of a study table, name of a column or value. */
  cellBytes: 1_000,
  columns: 999,
  /** `row_number` is an integer of four bytes. */
  rows: 100_000_000,
  biomFileBytes: 32 * 1024 * 1024,
  /** An id of a row or a column of a BIOM matrix: two of them are in a key. */
  biomIdBytes: 1_000,
  /** A sample's name and a gene's id: both are in a key. */
  sampleBytes: 1_000,
  rnaGeneBytes: 1_000,
  genesPerSample: 1_000_000,
  /** A cell that is not part of a key. */
  rnaCellBytes: 10_000,
} as const;

/** Bytes of UTF-8. */
export const bytesOf = (text: string): number => Buffer.byteLength(text);

/** For messages: what was found and what is allowed. */
export const tooMany = (number: number, limit: number): string => `is number ${number}; at most ${limit} are taken`;
export const tooLong = (bytes: number, limit: number): string => `has ${bytes} bytes in UTF-8; at most ${limit} fit`;
