// Reads a stream of events (text/event-stream) for tests.

export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly retry?: string;
  /** Parsed from JSON. */
  readonly data?: unknown;
}

/** The frames of a body, comments left out. A frame that is cut off is not returned. */
export async function* framesOf(body: AsyncIterable<Uint8Array | string>): AsyncGenerator<Frame, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const texts = `${rest}${typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })}`.split('\n\n');
    rest = texts.pop() ?? '';
    for (const text of texts) {
      const fields = text
        .split('\n')
        .filter((line) => !line.startsWith(':'))
        .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)] as const)
        .map(([name, value]) => [name, name === 'data' ? JSON.parse(value) : value]);
      yield Object.fromEntries(fields) as Frame;
    }
  }
}

/** The next frames, so many. Rejects when the body ends before. */
export async function take(frames: AsyncGenerator<Frame, void>, count: number): Promise<Frame[]> {
  const taken: Frame[] = [];
  while (taken.length < count) {
    const { value, done } = await frames.next();
    if (done) throw new Error(`the stream ended after ${taken.length} of ${count} frames`);
    taken.push(value);
  }
  return taken;
}
