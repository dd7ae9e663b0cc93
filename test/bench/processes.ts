// What the kernel counted for processes: processor time, memory, bytes written.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Of Linux on every platform that we run on. */
const TICKS_PER_SECOND = 100;

/** Seconds of the processes' own threads. Children do not count, except those that `reaping` has waited for. */
export function cpuSeconds(pids: readonly number[], reaping?: number): number {
  let ticks = 0;
  for (const pid of pids) {
    const fields = fieldsOf(pid);
    ticks += Number(fields[11]) + Number(fields[12]);
    if (pid === reaping) ticks += Number(fields[13]) + Number(fields[14]);
  }
  return ticks / TICKS_PER_SECOND;
}

/** Seconds of the first thread of each: that of JavaScript's event loop, which one core bounds. */
export const mainThreadSeconds = (pids: readonly number[]): number =>
  sum(pids.map((pid) => fieldsOf(pid, `task/${pid}/stat`)).map((fields) => Number(fields[11]) + Number(fields[12]))) /
  TICKS_PER_SECOND;

/** The fields of /proc/PID/stat from the third on, its state; none when it is gone. */
function fieldsOf(pid: number, file = 'stat'): readonly string[] {
  const text = read(pid, file);
  return text === '' ? Array(20).fill('0') : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Bytes handed to the disk by the processes and by the children that they waited for. The kernel counts them when they are cached. */
export const writtenBytes = (pids: readonly number[]): number =>
  sum(pids.map((pid) => number(/^write_bytes: (\d+)$/m, read(pid, 'io'))));

/** Of these, the bytes of files that were removed before the kernel wrote them: how many depends on memory and time. */
export const cancelledBytes = (pids: readonly number[]): number =>
  sum(pids.map((pid) => number(/^cancelled_write_bytes: (-?\d+)$/m, read(pid, 'io'))));

/** Memory in MB of 1,000,000 bytes; what several processes share is divided among them. */
export const proportionalMb = (pids: readonly number[]): number =>
  sum(pids.map((pid) => (number(/^Pss:\s+(\d+) kB$/m, read(pid, 'smaps_rollup')) * 1024) / 1e6));

/** MiB that a process has resident now. */
export const residentMib = (pid: number): number => number(/^VmRSS:\s+(\d+) kB$/m, read(pid, 'status')) / 1024;

/** MiB: the most that it had resident since {@link forgetPeak}, or ever. */
export const peakMib = (pid: number): number => number(/^VmHWM:\s+(\d+) kB$/m, read(pid, 'status')) / 1024;

export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

/** It and all below it that are alive. */
export function processTree(root: number): readonly number[] {
  const children = Map.groupBy(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number),
    (pid) => Number(fieldsOf(pid)[1]),
  );
  const below = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(below)];
  return below(root);
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // gone meanwhile
  }
}

const number = (pattern: RegExp, text: string): number => Number(pattern.exec(text)?.[1] ?? 0);
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
