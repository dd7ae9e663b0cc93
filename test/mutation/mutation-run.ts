// Workers with a copy of the tree each: first they measure what the test files run, then they judge mutants.

import { join } from 'node:path';
import pg from 'pg';
import type { CoverageMap } from './coverage-map.ts';
import type { Equivalents } from './equivalents.ts';
import { judge } from './judge.ts';
import { measure } from './measure.ts';
import type { Mutant } from './mutants.ts';
import { described, type Judged } from './score.ts';
import type { Selection } from './selection.ts';
import type { Tree } from './tree.ts';
import { type Server, WorkingCopy } from './working-copy.ts';

export interface RunOptions {
  readonly tree: Tree;
  readonly map: CoverageMap;
  readonly selection: Selection;
  readonly equivalents: Equivalents;
  /** Holds the copies. */
  readonly dir: string;
  readonly server: Server;
  readonly workers: number;
  readonly budgetMs: number;
  readonly progress: (line: string) => void;
}

export class Run implements AsyncDisposable {
  readonly #options: RunOptions;
  readonly #copies: readonly WorkingCopy[];
  readonly #admin: pg.Pool;

  private constructor(options: RunOptions, copies: readonly WorkingCopy[]) {
    this.#options = options;
    this.#copies = copies;
    const { port, password } = options.server;
    this.#admin = new pg.Pool({ host: '127.0.0.1', port, user: 'postgres', password, database: 'postgres', max: 2 });
    // The server ends with the run; a connection that notices is no news.
    this.#admin.on('error', () => {});
  }

  static async start(options: RunOptions): Promise<Run> {
    const { tree, dir, server, workers } = options;
    const copies: WorkingCopy[] = [];
    for (let i = 0; i < Math.max(1, workers); i++)
      copies.push(await WorkingCopy.make(tree, join(dir, `copy-${i}`), `w${i}_`, server));
    return new Run(options, copies);
  }

  async judgeAll(mutants: readonly Mutant[], signal: AbortSignal): Promise<readonly Judged[]> {
    const { equivalents, map, selection, tree, budgetMs, progress } = this.#options;
    const counted = mutants.filter((mutant) => equivalents.reasonOf(mutant) === undefined);
    await this.measure([...new Set(counted.map(({ file }) => file))], signal);
    const began = performance.now();
    const verdicts = new Map<Mutant, Judged['verdict']>();
    await this.#shared(counted, signal, async (mutant, copy, signal) => {
      const options = { map, budgetMs, textOf: (file: string) => tree.textOf(file) };
      const verdict = await judge(mutant, selection.candidates(mutant, map), copy, options, signal);
      if (verdict.kind === 'killed' || verdict.kind === 'timeout') await this.#dropLeft(copy);
      verdicts.set(mutant, verdict);
      progress(`${verdicts.size}/${counted.length} ${verdict.kind} ${described(mutant)}`);
    });
    map.save();
    progress(`judged ${counted.length} mutants in ${seconds(began)}`);
    return mutants.map((mutant) => ({
      mutant,
      verdict: verdicts.get(mutant) ?? { kind: 'equivalent', reason: equivalents.reasonOf(mutant) ?? '' },
    }));
  }

  /** Finds out what test files run of these sources, as far as it is not known. */
  async measure(sources: readonly string[], signal: AbortSignal): Promise<void> {
    const { map, selection, tree, progress } = this.#options;
    const hashOf = (test: string): string => map.hashOfAll(selection.partsOf(test));
    const unknown = sources.flatMap((source) =>
      selection.reaching(source).filter((test) => !map.knows(test, hashOf(test), source)),
    );
    // The slowest first: begun last, it would keep one worker busy alone.
    const tests = [...new Set(unknown)].sort((a, b) => map.msOf(b) - map.msOf(a));
    const isSource = (path: string): boolean => tree.sources.includes(path);
    const began = performance.now();
    let done = 0;
    try {
      await this.#shared(tests, signal, async (test, copy, signal) => {
        const measured = await measure(test, copy, isSource, signal);
        map.keep(test, hashOf(test), selection.sourcesOf(test), measured);
        done++;
        progress(`measured ${done}/${tests.length} ${measured.ms} ms ${test}`);
        if (!measured.passed) progress(`not used, it fails without a mutant: ${test}\n${measured.failure}`);
        if (measured.ran === undefined) await this.#dropLeft(copy);
      });
    } finally {
      // What was measured so far spares whoever was interrupted the same again.
      if (done > 0) map.save();
    }
    progress(`measured ${tests.length} test files in ${seconds(began)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#admin.end();
  }

  /** Every copy takes the next item as soon as it is done with one. The first that throws ends the others, too. */
  async #shared<Item>(
    items: readonly Item[],
    signal: AbortSignal,
    work: (item: Item, copy: WorkingCopy, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const waiting = items.values();
    const each = async (copy: WorkingCopy): Promise<void> => {
      try {
        for (const item of waiting) await work(item, copy, either);
      } catch (error) {
        failed.abort(error);
      }
    };
    await Promise.all(this.#copies.map(each));
    either.throwIfAborted();
  }

  /** Databases of a test that was cut short. */
  async #dropLeft({ label }: WorkingCopy): Promise<void> {
    const { rows } = await this.#admin.query('select datname from pg_database where starts_with(datname, $1)', [
      `t_${label}`,
    ]);
    for (const { datname } of rows) await this.#admin.query(`drop database if exists ${datname} with (force)`);
  }
}

const seconds = (since: number): string => `${Math.round((performance.now() - since) / 1000)} s`;
