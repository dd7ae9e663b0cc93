// Programs of Go modules that tests start, compiled once into the cache folder of the user by the Go toolchain of the machine.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Missing } from '../support/missing.ts';

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'longshore-tests');
/** Debian's own is older than the modules want. */
const GO = [process.env.PATH ?? '', '/usr/local/go/bin', '/usr/lib/go/bin'].join(':');

export class GoProgram {
  readonly name: string;
  readonly #module: string;
  readonly #needs: string;
  readonly #folder: string;

  /** @param module with its exact version  @param needs the oldest Go that compiles it */
  constructor(name: string, module: string, needs: string) {
    this.name = name;
    this.#module = module;
    this.#needs = needs;
    this.#folder = join(CACHE, `${name}-${module.slice(module.lastIndexOf('-') + 1)}`);
  }

  get path(): string {
    return join(this.#folder, this.name);
  }

  /** Once for each version, in minutes. Go puts the program there when it is whole. @returns what cannot be had */
  install(): readonly Missing[] {
    if (existsSync(this.path)) return [];
    const env = { ...process.env, PATH: GO, CGO_ENABLED: '0', GOBIN: this.#folder, GOTOOLCHAIN: 'auto' };
    const hasGo = spawnSync('go', ['version'], { env }).status === 0;
    try {
      if (hasGo) console.log(`compiling ${this.#module} in ${this.#folder}`);
      execFileSync('go', ['install', this.#module], { stdio: 'inherit', env });
      return [];
    } catch {
      const get = hasGo
        ? 'where Go does not reach it, set GOPROXY to a mirror'
        : `put Go ${this.#needs} or newer on PATH (https://go.dev/dl)`;
      const from = `the Go module proxy by Go (${this.#module})`;
      return [{ names: [this.name], from, get: `${get}, or copy ${this.#folder} from a machine that has it` }];
    }
  }
}

/** The last that was published before the project ended. */
export const MINIO = new GoProgram('minio', 'github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c', '1.24');

export const GO_PROGRAMS = [MINIO];
