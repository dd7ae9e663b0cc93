// Calls the running program as one role; every answer is held against the document that the program serves.

import { FormData, fetch, type Response } from 'undici';
import type { Recorder } from './recorder.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Response['headers'];
  readonly text: string;
  readonly bytes: Buffer;
  /** Of JSON; undefined for anything else. */
  readonly body: unknown;
}

export interface CallInit {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: FormData | string | Buffer;
}

const jsonOf = (body: CallInit['body']): unknown => {
  try {
    return typeof body === 'string' ? JSON.parse(body) : undefined;
  } catch {
    return undefined;
  }
};

/** Parts in order: `[name, text]`, or `[name, content, fileName]`. */
export type Part = readonly [name: string, content: string | Buffer, fileName?: string];

export class ContractClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #recorder: Recorder;

  constructor(url: string, headers: Readonly<Record<string, string>>, recorder: Recorder) {
    this.#url = url;
    this.#headers = headers;
    this.#recorder = recorder;
  }

  async call(method: string, path: string, { headers = {}, body }: CallInit = {}): Promise<Answer> {
    const response = await fetch(this.#url + path, {
      method,
      redirect: 'manual',
      headers: { ...this.#headers, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString();
    const json = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
    const answer: Answer = {
      status: response.status,
      headers: response.headers,
      text,
      bytes,
      body: json ? JSON.parse(text) : undefined,
    };
    this.#recorder.check(method, path, answer, jsonOf(body));
    return answer;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.call('GET', path, { headers });
  }

  send(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    if (body === undefined) return this.call(method, path, { headers });
    return this.call(method, path, {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  form(
    parts: readonly Part[],
    path = '/datasets',
    method = 'POST',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return this.call(method, path, { body: formOf(parts), headers });
  }

  /** Uploads one file and returns the dataset's id. */
  async upload(details: object, file: string, content: string | Buffer = 'PF3D7_0100100\n'): Promise<string> {
    return idOf(
      await this.form([
        ['details', JSON.stringify(details)],
        ['dataFile', content, file],
      ]),
    );
  }
}

export function formOf(parts: readonly Part[]): FormData {
  const form = new FormData();
  for (const [name, content, fileName] of parts) {
    if (fileName === undefined) form.append(name, String(content));
    else form.append(name, new Blob([Uint8Array.from(Buffer.from(content))]), fileName);
  }
  return form;
}

/** Of a 202. */
export function idOf({ status, body, text }: Answer): string {
  const id = (body as { datasetId?: string } | undefined)?.datasetId;
  if (status !== 202 || id === undefined) throw new Error(`not accepted: ${status} ${text}`);
  return id;
}

/** The least that is accepted, and more. */
export const details = (more: object = {}): object => ({
  name: 'My genes',
  summary: 'Genes that I like',
  origin: 'direct-upload',
  dependencies: [],
  installTargets: ['AlphaDB'],
  type: { name: 'genes', version: '1.0' },
  ...more,
});

/** The faults of a 422, by key. */
export function faultsOf({ status, body, text }: Answer): Readonly<Record<string, readonly string[]>> {
  if (status === 202) return {};
  if (status !== 422) throw new Error(`neither accepted nor invalid: ${status} ${text}`);
  return (body as { errors: { byKey: Record<string, string[]> } }).errors.byKey;
}
