// One GET over its own connection; the response is read up to a limit. Unlike `fetch`, it allows any port.

import { Agent, interceptors, request } from 'undici';

export interface HttpAnswer {
  readonly status: number;
  /** Undefined when the response is not JSON, or too long. */
  readonly json: unknown;
}

/** Longest response that is read. */
const MAX_BYTES = 256 * 1024;

/** @param maxRedirections to follow; 0 = a redirect is returned as the response */
export async function httpAnswer(url: string, maxRedirections: number, signal: AbortSignal): Promise<HttpAnswer> {
  const agent = new Agent();
  try {
    const dispatcher = agent.compose(interceptors.redirect({ maxRedirections }));
    const { statusCode: status, body } = await request(url, {
      dispatcher,
      signal,
      headers: { accept: 'application/json' },
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) return { status, json: undefined };
      chunks.push(chunk);
    }
    return { status, json: parsed(Buffer.concat(chunks).toString('utf8')) };
  } finally {
    await agent.destroy();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
