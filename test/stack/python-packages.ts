// Packages of PyPI that tests compare with, each in a virtual environment in the cache folder of the user.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Missing } from '../support/missing.ts';

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'longshore-tests');

export class PythonPackages {
  readonly name: string;
  readonly #requirements: readonly string[];
  readonly #folder: string;

  /** @param requirements with exact versions; the first of them names the folder */
  constructor(name: string, requirements: readonly [string, ...string[]]) {
    this.name = name;
    this.#requirements = requirements;
    this.#folder = join(CACHE, requirements[0].replace('==', '-'));
  }

  /** A program of the environment. */
  program(name: string): string {
    return join(this.#folder, 'bin', name);
  }

  get python(): string {
    return this.program('python');
  }

  get installed(): boolean {
    return existsSync(this.#done);
  }

  /** Once for each version. @returns what cannot be had */
  install(): readonly Missing[] {
    if (this.installed) return [];
    console.log(`installing ${this.#requirements.join(' ')} in ${this.#folder}`);
    const options = { stdio: 'inherit' } as const;
    try {
      execFileSync('/usr/bin/python3', ['-m', 'venv', this.#folder], options);
      execFileSync(this.python, ['-m', 'pip', 'install', '--quiet', ...this.#requirements], options);
    } catch {
      const get = `where pip does not reach it, set PIP_INDEX_URL to a mirror, or copy ${this.#folder} from a machine that has it`;
      return [{ names: [this.name], from: `PyPI by pip (${this.#requirements.join(' ')})`, get }];
    }
    execFileSync('touch', [this.#done]);
    return [];
  }

  /** The last that is written: an installation that was cut off is made again. */
  get #done(): string {
    return join(this.#folder, 'installed');
  }
}

/** The reference implementation of BIOM. */
export const BIOM_FORMAT = new PythonPackages('biom-format', ['biom-format==2.1.18']);

export const HTTP_CLIENTS = new PythonPackages('http-clients', ['requests==2.34.2', 'urllib3==2.8.0', 'httpx==0.28.1']);

/** What clients/python needs, and what checks and generates it. */
export const PYTHON_CLIENT = new PythonPackages('python-client', [
  'datamodel-code-generator==0.89.0',
  'httpx==0.28.1',
  'typing_extensions==4.16.0',
  'mypy==2.4.1',
]);

/** Sends requests that the OpenAPI documents describe. */
export const SCHEMATHESIS = new PythonPackages('schemathesis', ['schemathesis==4.32.5']);

export const PYTHON_PACKAGES = [BIOM_FORMAT, HTTP_CLIENTS, PYTHON_CLIENT, SCHEMATHESIS];
