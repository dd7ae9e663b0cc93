// A real Prometheus with the rules of config/deploy, for a test: scrapes and evaluates every second, and fires at once.

import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { ServerProcess } from '../stack/server-process.ts';
import { freePort } from '../support/ports.ts';
import { DEPLOY, RULE_FILES, type Rule } from './rules.ts';

export interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

const LOOK_MS = 200;

export class Prometheus implements AsyncDisposable {
  readonly #server: ServerProcess;
  readonly #url: string;

  /**
   * @param target `host:port` that is scraped
   * @param patience of the rules: `instant`: they fire at once; `hasty`: they also look back seconds instead of hours, and
   *   minutes of waiting are seconds
   */
  static async start(dir: string, target: string, patience: 'instant' | 'hasty' = 'instant'): Promise<Prometheus> {
    const port = await freePort();
    mkdirSync(dir, { recursive: true });
    for (const file of RULE_FILES)
      writeFileSync(join(dir, basename(file)), await impatient(file, patience === 'hasty'));
    const config = join(dir, 'prometheus.yaml');
    const document = parse(await readFile(join(DEPLOY, 'prometheus', 'prometheus.yaml'), 'utf8')) as {
      global: object;
      readonly scrape_configs: { static_configs: object[] }[];
    };
    document.global = { scrape_interval: '1s', evaluation_interval: '1s' };
    for (const scrape of document.scrape_configs) scrape.static_configs = [{ targets: [target] }];
    writeFileSync(config, stringify(document));
    const server = await ServerProcess.start({
      program: '/usr/bin/prometheus',
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(dir, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      log: join(dir, 'prometheus.log'),
      ready: async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined);
        return answer?.ok ?? false;
      },
    });
    return new Prometheus(server, `http://127.0.0.1:${port}`);
  }

  private constructor(server: ServerProcess, url: string) {
    this.#server = server;
    this.#url = url;
  }

  /** The values of a query at this moment, by their labels as JSON. */
  async query(expression: string): Promise<ReadonlyMap<string, number>> {
    const { result } = (await this.#get(`/query?query=${encodeURIComponent(expression)}`)) as {
      readonly result: readonly { readonly metric: object; readonly value: readonly [number, string] }[];
    };
    return new Map(result.map(({ metric, value }) => [JSON.stringify(metric), Number(value[1])]));
  }

  async alerts(): Promise<readonly FiringAlert[]> {
    return ((await this.#get('/alerts')) as { readonly alerts: readonly FiringAlert[] }).alerts;
  }

  /** Rules that could not be evaluated, with the reason. */
  async brokenRules(): Promise<readonly string[]> {
    const { groups } = (await this.#get('/rules')) as {
      readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly lastError?: string }[] }[];
    };
    return groups.flatMap(({ rules }) =>
      rules.flatMap(({ name, lastError }) => (lastError ? [`${name}: ${lastError}`] : [])),
    );
  }

  /** Looks until it is so. Rejects after `withinMs` with what was seen last. */
  async until<Seen>(
    look: (prometheus: this) => Promise<Seen>,
    isSo: (seen: Seen) => boolean,
    withinMs: number,
  ): Promise<Seen> {
    for (const begun = Date.now(); ; await setTimeout(LOOK_MS)) {
      const seen = await look(this);
      if (isSo(seen)) return seen;
      if (Date.now() - begun > withinMs) throw new Error(`after ${withinMs} ms: ${JSON.stringify(seen)}`);
    }
  }

  async #get(path: string): Promise<unknown> {
    const answer = await fetch(`${this.#url}/api/v1${path}`);
    const { status, data, error } = (await answer.json()) as Record<string, unknown>;
    if (status !== 'success') throw new Error(`${path}: ${String(error)}`);
    return data;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

/** The rules without the time that something must last before it fires. */
async function impatient(file: string, hasty: boolean): Promise<string> {
  const document = parse(await readFile(file, 'utf8')) as {
    readonly groups: readonly { rules: readonly Rule[] }[];
  };
  const shorter = (expr: string): string => {
    // Within 20 s a process starts once or twice.
    const range = expr.includes('process_start_time_seconds') ? '[90s]' : '[20s]';
    return hasty ? expr.replaceAll(/\[\d+[mh]\]/g, range).replace(AGE, '> 2') : expr;
  };
  for (const group of document.groups)
    group.rules = group.rules.map(({ for: _, expr, ...rule }) => ({ ...rule, expr: shorter(expr) }));
  return stringify(document);
}

/** Bounds for the age of a job, in seconds. */
const AGE = /> (900|1800)$/m;
