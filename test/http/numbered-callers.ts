// Callers of the front ends of tests, by number: a bearer token is the user's id, and `guest-7` is guest 7.

import { FormData, fetch, type Response } from 'undici';
import { parseUserId } from '../../engine/model/ids.ts';
import type { Caller } from '../../http/kernel/auth/authenticate.ts';
import { unauthorized } from '../../http/kernel/pipeline/errors.ts';
import { ADMIN } from './http-app.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Response['headers'];
  readonly text: string;
  /** Of JSON; undefined for anything else. */
  readonly body: unknown;
}

/** User N is FN LN of Lab N, with the address uN@site.example. */
export async function verify(token: string): Promise<Caller> {
  const [, guest, id = ''] = /^(guest-)?(\d+)$/.exec(token) ?? [];
  const userId = parseUserId(id);
  if (!userId) throw unauthorized('no such user');
  const names = { firstName: `F${id}`, lastName: `L${id}`, affiliation: `Lab ${id}` };
  return { kind: guest ? 'guest' : 'user', userId, profile: { userId, ...names, email: `u${id}@site.example` } };
}

/**
 * @param user `admin` has the Admin-Token, undefined has no token
 * @param body a form or text as it is, anything else as JSON; text is called JSON unless the headers call it otherwise
 */
export async function callAs(
  user: string | undefined,
  method: string,
  url: string,
  body?: unknown,
  headers: object = {},
): Promise<Answer> {
  const token = user === 'admin' ? { 'admin-token': ADMIN } : { authorization: `Bearer ${user}` };
  const isForm = body instanceof FormData;
  const response = await fetch(url, {
    ...{ method, redirect: 'manual' },
    headers: {
      ...(user === undefined ? {} : token),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isForm || typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  // A file that is served may be JSON as well, or several documents of it.
  const own = !response.ok || !/\/jobs\/\w+\/files\//.test(url);
  const json = own && /json/.test(response.headers.get('content-type') ?? '') && text !== '';
  return { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) : undefined };
}
