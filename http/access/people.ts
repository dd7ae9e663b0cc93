// People as the service shows them, and lists of what is about them. Who has no known account has an id and no name.

import { Readable } from 'node:stream';
import type { UserId } from '../../engine/model/ids.ts';
import type { Listing } from '../../engine/ports/access-people.ts';
import type { Accounts, Profile } from '../../engine/ports/accounts.ts';
import { flattened, mapped } from '../../engine/runtime/items.ts';
import { jsonReport } from '../kernel/answers/json-text.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';

export interface ShownUser {
  readonly userId: UserId;
  readonly firstName: string;
  readonly lastName: string;
  readonly organization: string;
  readonly email: string;
}

export type ShownAccounts = Pick<Accounts, 'find'>;

export type ShowUser = (id: UserId) => ShownUser;

/** The port's bound. */
const AT_ONCE = 1_000;

/** A function that shows any of these users. */
export async function showUsers(
  accounts: ShownAccounts,
  ids: readonly UserId[],
  signal: AbortSignal,
): Promise<ShowUser> {
  const wanted = [...new Set(ids)];
  const profiles = new Map<UserId, Profile>();
  for (let i = 0; i < wanted.length; i += AT_ONCE)
    for (const [id, profile] of await accounts.find(wanted.slice(i, i + AT_ONCE), signal)) profiles.set(id, profile);
  return (userId) => {
    const profile = profiles.get(userId);
    return {
      userId,
      firstName: profile?.firstName ?? '',
      lastName: profile?.lastName ?? '',
      organization: profile?.affiliation ?? '',
      email: profile?.email ?? '',
    };
  };
}

export const emptyListing = (): Listing<never> => ({ items: Readable.from([]), total: 0 });

/** Answers with a page of items that are each about a user, batch by batch. */
export function sendPage<Item extends { readonly userId: UserId }>(
  context: RequestContext,
  { items, total }: Listing<Item>,
  accounts: ShownAccounts,
  offset: number,
  show: (item: Item, user: ShowUser) => object,
): Promise<void> {
  const shown = mapped(items, async (batch) => {
    const ids = batch.map(({ userId }) => userId);
    const user = await showUsers(accounts, ids, context.signal);
    return batch.map((item) => show(item, user));
  });
  return jsonReport(context, { name: 'data', items: flattened(shown), rest: (rows) => ({ rows, offset, total }) });
}

/** The number of a row from the path; undefined when it cannot be one. */
export function rowId(context: RequestContext, name: string): number | undefined {
  const text = context.param(name);
  const id = Number(text);
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(id) ? id : undefined;
}
