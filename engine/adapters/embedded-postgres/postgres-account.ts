// The account that runs the embedded PostgreSQL when root starts it, because postgres refuses to run as root. If the machine has
// an account for it, that one is used. Otherwise `nobody` is, which other daemons may share: they could then touch its processes
// and read its files.

import { chown, lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export const OWN_ACCOUNT = 'longshore-postgres';
/** The command that creates the account, for the log. */
export const MAKE_ACCOUNT = `useradd --system --user-group --no-create-home --shell /usr/sbin/nologin ${OWN_ACCOUNT}`;
export const NOBODY: Account = { uid: 65_534, gid: 65_534 };

/** Reads the account from the file. Undefined if there is none, or if it has the number of root. */
export async function ownAccount(file = '/etc/passwd'): Promise<Account | undefined> {
  for (const line of (await readFile(file, 'utf8').catch(() => '')).split('\n')) {
    const [name, , uid = '', gid = ''] = line.split(':');
    if (name === OWN_ACCOUNT && /^[1-9]\d*$/.test(uid) && /^[1-9]\d*$/.test(gid))
      return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/** Changes the owner of the folder and everything in it, if an earlier start ran as another account. Leaves links alone. */
export async function giveTree(path: string, account: Account, give: typeof giveOne = giveOne): Promise<void> {
  const { uid } = await lstat(path);
  if (uid === account.uid) return;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true }))
    if (!entry.isSymbolicLink()) await give(join(entry.parentPath, entry.name), account);
  // Last: if this is interrupted, the next start does it again.
  await give(path, account);
}

const giveOne = (path: string, { uid, gid }: Account): Promise<void> => chown(path, uid, gid);
