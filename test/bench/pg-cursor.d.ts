// What the benchmark uses of pg-cursor, which has no types.
declare module 'pg-cursor' {
  export default class Cursor<Row> {
    constructor(text: string, values?: readonly unknown[]);
    submit(connection: unknown): void;
    read(rows: number): Promise<Row[]>;
    close(): Promise<void>;
  }
}
