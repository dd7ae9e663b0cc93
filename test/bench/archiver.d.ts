// What the benchmark uses of archiver, which brings no types.

declare module 'archiver' {
  import type { Transform } from 'node:stream';

  export class ZipArchive extends Transform {
    constructor(options: { readonly store?: boolean; readonly zlib?: { readonly level: number } });
    file(path: string, options: { readonly name: string }): this;
    finalize(): Promise<void>;
  }
}
