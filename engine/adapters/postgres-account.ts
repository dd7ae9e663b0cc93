// Whom the embedded PostgreSQL runs as when root starts it, which postgres refuses to be. An account of its own, where the
// machine has one; `nobody` is also that of other daemons, which may then touch its processes and read its files.

import { chown, lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export const OWN_ACCOUNT = 'longshore-postgres';
/** To be read by whoever is told that there is none. */
export const MAKE_ACCOUNT = `useradd --system --user-group --no-create-home --shell /usr/sbin/nologin ${OWN_ACCOUNT}`;
export const NOBODY: Account = { uid: 65_534, gid: 65_534 };

/** Of the accounts in the file; undefined when there is none of its own. An account of root's number is none. */
export async function ownAccount(file = '/etc/passwd'): Promise<Account | undefined> {
  for (const line of (await readFile(file, 'utf8').catch(() => '')).split('\n')) {
    const [name, , uid = '', gid = ''] = line.split(':');
    if (name === OWN_ACCOUNT && /^[1-9]\d*$/.test(uid) && /^[1-9]\d*$/.test(gid))
      return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/** The folder and all in it, when it is somebody else's: of an earlier start. Links stay as they are. */
export async function giveTree(path: string, account: Account, give: typeof giveOne = giveOne): Promise<void> {
  const { uid } = await lstat(path);
  if (uid === account.uid) return;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true }))
    if (!entry.isSymbolicLink()) await give(join(entry.parentPath, entry.name), account);
  // Last: until then it is given again by the next start.
  await give(path, account);
}

const giveOne = (path: string, { uid, gid }: Account): Promise<void> => chown(path, uid, gid);
