// W3: a small JSON document over HTTP, the whole pipeline of a front end beside bare node:http and Fastify that answer the
// same. One server at a time gets the load, while all are up. How fast a process gets differs from start to start by more
// than the servers differ from each other, so they are started anew every few rounds.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fetch } from 'undici';
import { Program } from './program.ts';
import type { BenchRow, Round } from './row.ts';

const KINDS = ['ours', 'node', 'fastify', 'tcp'] as const;
type Kind = (typeof KINDS)[number];
const CONNECTIONS = 32;
const SECONDS = 3;
const ROUNDS_OF_A_START = 3;

const row: BenchRow = {
  id: 'W3',
  watched: true,
  title: 'GET /service-meta (open, 412 bytes of JSON made anew each time, no database) through the whole pipeline',
  unit: 'requests/s',
  rounds: 15,
  better: 'higher',
  sides: {
    fastify: { is: 'peer', what: 'Fastify 5 with a schema of the answer, its log off' },
    node: { is: 'limit', what: 'bare node:http' },
    tcp: { is: 'limit', what: 'fixed bytes on a bare socket' },
  },
  bars: [{ over: 'fastify', atLeast: 0.8 }],
  async measure(rounds) {
    const measured: Round[] = [];
    while (measured.length < rounds)
      measured.push(...(await measureStarted(Math.min(ROUNDS_OF_A_START, rounds - measured.length))));
    return measured;
  },
};

export const rows: readonly BenchRow[] = [row];

/** So many rounds of servers that are started for them, after one that does not count. */
async function measureStarted(rounds: number): Promise<readonly Round[]> {
  await using programs = new AsyncDisposableStack();
  const ports = new Map<Kind, number>();
  for (const kind of KINDS) ports.set(kind, programs.use(await Program.start('json-server.ts', kind)).port);
  await demandSameAnswer([...ports.values()]);
  const measured: Round[] = [];
  for (let n = -1; n < rounds; n++) {
    const round: Record<string, number> = {};
    // Each begins in turn.
    for (let i = 0; i < KINDS.length; i++) {
      const kind = KINDS[(i + n + 1) % KINDS.length] ?? 'ours';
      round[kind] = await requestsPerSecond(ports.get(kind) ?? 0);
    }
    if (n >= 0) measured.push(round as Round);
  }
  return measured;
}

async function demandSameAnswer(ports: readonly number[]): Promise<void> {
  const bodies = new Set<string>();
  for (const port of ports) bodies.add(await (await fetch(urlAt(port))).text());
  if (bodies.size !== 1) throw new Error(`the answers differ: ${[...bodies].join('\n')}`);
}

async function requestsPerSecond(port: number): Promise<number> {
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${SECONDS}s`, urlAt(port)];
  const { stdout } = await promisify(execFile)('wrk', args);
  const found = /Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1];
  if (found === undefined || /Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk: ${stdout}`);
  return Number(found);
}

const urlAt = (port: number): string => `http://127.0.0.1:${port}/service-meta`;
