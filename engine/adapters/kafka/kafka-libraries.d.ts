// Types for the parts that we use of libraries without types.

declare module 'kafkajs-snappy' {
  /** Compresses to a raw block; reads raw blocks and xerial's framing. */
  export default function snappy(): {
    compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
    decompress(buffer: Buffer): Promise<Buffer>;
  };
}

declare module 'lz4js' {
  const lz4: {
    /** To and from a frame. */
    compress(content: Uint8Array): Uint8Array;
    decompress(frame: Uint8Array): Uint8Array;
  };
  export default lz4;
}
