// The installer's API as tests call it: plain fetch, nothing of ours in between.

import { FormData, fetch, type Response } from 'undici';

export interface TestFile {
  readonly name: string;
  readonly content: string | Buffer;
}

export class Api {
  readonly #base: string;
  readonly #token: string;

  constructor(base: string, token: string) {
    this.#base = base;
    this.#token = token;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.#base + path, { headers: { ...headers, authorization: `Bearer ${this.#token}` } });
  }

  /** In the newest form, with everything that is shown to those who know it. */
  async json(path: string): Promise<unknown> {
    return (await this.get(path, { 'api-version': '1.8.0' })).json();
  }

  async bytes(path: string): Promise<Buffer> {
    return Buffer.from(await (await this.get(path)).arrayBuffer());
  }

  async post(form: FormData): Promise<Response> {
    return fetch(`${this.#base}/datasets`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${this.#token}` },
    });
  }

  /** Puts a revision in the dataset's place and returns its id. */
  async revise(dataset: string, details: object, files: readonly TestFile[]): Promise<string> {
    const response = await fetch(`${this.#base}/datasets/${dataset}`, {
      method: 'PUT',
      body: formOf(details, files),
      headers: { authorization: `Bearer ${this.#token}` },
    });
    const body = (await response.json()) as { datasetId?: string };
    if (response.status !== 202 || body.datasetId === undefined)
      throw new Error(`PUT /datasets/${dataset}: ${response.status} ${JSON.stringify(body)}`);
    return body.datasetId;
  }

  /** The status of a request with an optional JSON body. */
  async send(method: string, path: string, body?: object): Promise<number> {
    const response = await this.call(method, path, body);
    await response.body?.cancel();
    return response.status;
  }

  /** A request with an optional JSON body. */
  call(method: string, path: string, body?: object): Promise<Response> {
    return fetch(this.#base + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Uploads and returns the id. */
  async upload(details: object, files: readonly TestFile[]): Promise<string> {
    const response = await this.post(formOf(details, files));
    const body = (await response.json()) as { datasetId?: string };
    if (response.status !== 202 || body.datasetId === undefined)
      throw new Error(`POST /datasets: ${response.status} ${JSON.stringify(body)}`);
    return body.datasetId;
  }
}

export function formOf(details: object | string | undefined, files: readonly TestFile[], url?: string): FormData {
  const form = new FormData();
  if (details !== undefined) {
    const text = typeof details === 'string' ? details : JSON.stringify(details);
    form.append('details', new Blob([text], { type: 'application/json' }), 'details.json');
  }
  if (url !== undefined) form.append('url', url);
  for (const file of files) form.append('dataFile', new Blob([Uint8Array.from(Buffer.from(file.content))]), file.name);
  return form;
}

/** Details that only need a type to be accepted by `longshore up`'s two targets. */
export const detailsOf = (type: string, more: object = {}): object => ({
  name: `A ${type} dataset`,
  summary: 'Made by a test',
  origin: 'direct-upload',
  dependencies: [],
  installTargets: ['AlphaDB', 'BetaDB'],
  type: { name: type, version: '1.0' },
  ...more,
});
