// The files of the project as they are now: what git tracks, and what is new and not ignored.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOf, SUITES } from '../run/suites.ts';

const SOURCES = /^(engine|actors|http|config|bin)\/.*\.ts$/;
export class Tree {
  readonly root: string;
  readonly files: readonly string[];
  readonly #texts = new Map<string, string>();

  constructor(root: string) {
    this.root = root;
    const listed = git(root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']).split('\0');
    this.files = [...new Set(listed)].filter((file) => file !== '' && existsSync(join(root, file))).sort();
  }

  get sources(): readonly string[] {
    return this.files.filter((file) => SOURCES.test(file) && !file.endsWith('.d.ts'));
  }

  /** Test files of these suites. */
  tests(names: readonly string[]): readonly string[] {
    const suites = names.flatMap((name) => SUITES[name] ?? []);
    return this.files.filter((file) => file.endsWith('.test.ts') && suites.some((suite) => isOf(suite, file)));
  }

  /** Every file that an import may lead to. */
  get code(): ReadonlyMap<string, string> {
    const loaded = this.files.filter((file) => file.endsWith('.ts') && !file.startsWith('test/bench/'));
    return new Map(loaded.map((file) => [file, this.textOf(file)]));
  }

  textOf(file: string): string {
    const text = this.#texts.get(file) ?? readFileSync(join(this.root, file), 'utf8');
    this.#texts.set(file, text);
    return text;
  }

  /** The commit, and whether anything differs from it. */
  commit(): string {
    const changed = git(this.root, ['status', '--porcelain']).trim() !== '';
    return git(this.root, ['rev-parse', '--short=12', 'HEAD']).trim() + (changed ? ' with changes' : '');
  }
}

const git = (root: string, args: readonly string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
