// Calls as any client makes them.

import { FormData, fetch } from 'undici';

export interface Answered {
  readonly status: number;
  /** Of JSON; text otherwise. */
  readonly body: unknown;
}

export async function callAt(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string | Buffer | FormData,
): Promise<Answered> {
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

/** Of a type that takes anything. */
export function uploadAt(base: string, authorization: string, name: string, content: Buffer): Promise<Answered> {
  const form = new FormData();
  const details = {
    ...{ name, summary: name, origin: 'direct-upload', dependencies: [], installTargets: ['AlphaDB'] },
    type: { name: 'lightweight', version: '1.0' },
  };
  form.append('details', new Blob([JSON.stringify(details)], { type: 'application/json' }));
  form.append('dataFile', new Blob([Uint8Array.from(content)]), name);
  return callAt(`${base}/datasets`, 'POST', { authorization }, form);
}
