// A file to upload that reports how much of it was sent. Its size is known, so the request has a Content-Length.

export class CountedFile extends File {
  readonly #sent: (bytes: number) => void;

  /** @param sent called with the length of each chunk when the connection takes it */
  constructor(content: Blob, name: string, sent: (bytes: number) => void) {
    super([content], name);
    this.#sent = sent;
  }

  override stream(): ReturnType<File['stream']> {
    const sent = this.#sent;
    const count = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(piece, controller) {
        sent(piece.length);
        controller.enqueue(piece);
      },
    });
    return super.stream().pipeThrough(count);
  }
}
