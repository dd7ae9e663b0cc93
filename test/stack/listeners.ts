// Who listens on a port of this machine, by /proc: that somebody takes connections there does not say who.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Of a socket that listens, in /proc/net/tcp. */
const LISTEN = '0A';

/** Whether a process of the group listens on the port. */
export function listens(group: number, port: number): boolean {
  const sockets = listeningSockets(port);
  return sockets.size > 0 && membersOf(group).some((pid) => filesOf(pid).some((file) => sockets.has(file)));
}

/** As they are called among the files of a process. */
function listeningSockets(port: number): ReadonlySet<string> {
  const rows = ['tcp', 'tcp6'].flatMap((table) =>
    readable(() => readFileSync(`/proc/net/${table}`, 'utf8').split('\n')),
  );
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return new Set(
    rows
      .map((row) => row.trim().split(/\s+/))
      .filter(([, local, , state]) => local?.endsWith(wanted) && state === LISTEN)
      .map((fields) => `socket:[${fields[9]}]`),
  );
}

const membersOf = (group: number): readonly string[] =>
  readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && readable(() => [groupIn(readFileSync(`/proc/${pid}/stat`, 'utf8'))])[0] === group,
  );

/** The name in it may hold spaces and brackets: fields are counted from its end. */
const groupIn = (stat: string): number => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);

const filesOf = (pid: string): readonly string[] =>
  readable(() => readdirSync(`/proc/${pid}/fd`)).flatMap((fd) =>
    readable(() => [readlinkSync(`/proc/${pid}/fd/${fd}`)]),
  );

/** Nothing of what has ended meanwhile. */
function readable<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch {
    return [];
  }
}
