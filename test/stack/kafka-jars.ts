// Apache Kafka, from Maven Central: the jars that kafka/pom.xml lists, in the cache folder of the user. A program of them runs
// in a small Java machine that ends with the process that started it.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Missing } from '../support/missing.ts';

const POM = join(import.meta.dirname, 'kafka', 'pom.xml');
const LIST = readFileSync(POM, 'utf8');
export const KAFKA_VERSION = /<kafka\.version>([^<]+)</.exec(LIST)?.[1] ?? '';
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'longshore-tests');
const FOLDER = join(CACHE, `kafka-${KAFKA_VERSION}`);
/** The list whose jars are in the folder, written last: an installation that was cut off is made again. */
const DONE = join(FOLDER, 'pom.xml');

const isInstalled = (): boolean => existsSync(DONE) && readFileSync(DONE, 'utf8') === LIST;

/** Once for each version of the list. @returns what cannot be had */
export function installKafka(): readonly Missing[] {
  if (isInstalled()) return [];
  console.log(`installing Apache Kafka ${KAFKA_VERSION} in ${FOLDER}`);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const args = ['--batch-mode', '--quiet', '--strict-checksums', '--file', POM];
  try {
    execFileSync('mvn', [...args, 'dependency:copy-dependencies', `-DoutputDirectory=${FOLDER}`], { stdio: 'inherit' });
  } catch {
    const get = `where Maven does not reach it, name a mirror in ~/.m2/settings.xml, or copy ${FOLDER} from a machine that has it`;
    return [{ names: ['kafka'], from: `Maven Central by mvn (Apache Kafka ${KAFKA_VERSION})`, get }];
  }
  writeFileSync(DONE, LIST);
  return [];
}

export interface JavaCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** @param main the class; @param heapMiB the most that it may use */
export function kafkaProgram(main: string, args: readonly string[], heapMiB: number): JavaCommand {
  if (!isInstalled())
    throw new Error(`Apache Kafka ${KAFKA_VERSION} is not installed: run node test/stack/install.ts kafka`);
  // Short runs: it costs more to compile well than it brings.
  const machine = [`-Xmx${heapMiB}m`, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dlog4j2.level=WARN'];
  const java = ['java', ...machine, '-cp', join(FOLDER, '*'), main, ...args];
  return { program: 'setpriv', args: ['--pdeathsig', 'KILL', ...java] };
}
