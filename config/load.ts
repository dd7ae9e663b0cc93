// Loads a configuration file in stages: size, YAML, placeholders, schema, rules, defaults, forms. All faults of a stage are
// reported at once. A file with any fault is not loaded.

import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Configuration, finish } from './configuration.ts';
import { derive } from './derive.ts';
import { foundAt } from './describe.ts';
import { resolveForms } from './forms.ts';
import { installerRules } from './installer-rules.ts';
import { unreadable } from './named-files.ts';
import { Cursor, displayPath, isMap, type Path, pointerOf } from './path.ts';
import { processRules } from './process-rules.ts';
import { ROOT_SCHEMA, type RootFile } from './schema/root.ts';
import { branchOf, childOf, type SchemaNode } from './schema-node.ts';
import { expand, holdsLiteralSecret } from './secrets.ts';
import { type Section, type Selected, Selection, type TargetDatabase } from './sections.ts';
import { readSizes } from './size.ts';
import { type ConfigFault, compileCheck, type Finding, type Written } from './validate.ts';
import { warningsOf } from './warnings.ts';
import { type Mark, type Position, readYaml } from './yaml-source.ts';

/** Fills the defaults of the schema into a copy of the document, which may have faults. */
export function fillDefaults(schema: SchemaNode, value: unknown): unknown {
  const branch = branchOf(schema, value);
  if (!branch) return value;
  if (Array.isArray(value)) return value.map((item) => (branch.items ? fillDefaults(branch.items, item) : item));
  if (!isMap(value)) return value;
  const result: Record<string, unknown> = {};
  // In the order of the schema, in which the document is printed.
  for (const [key, child] of Object.entries(branch.properties ?? {})) {
    const item = Object.hasOwn(value, key) ? value[key] : child.default;
    if (item !== undefined) result[key] = fillDefaults(child, item);
  }
  for (const [key, item] of Object.entries(value)) {
    if (Object.hasOwn(result, key)) continue;
    const child = childOf(branch, value, key);
    result[key] = child ? fillDefaults(child, item) : item;
  }
  return result;
}

interface LoadOptions<Names extends Section = Section> {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The sections that the command reads; absent = all. */
  readonly sections?: readonly Names[];
  /** Databases of install targets that are not read: their placeholders are not expanded, their faults not reported. */
  readonly leaveOut?: readonly TargetDatabase[];
  /** Further checks of the complete document, such as files that must exist. Runs while positions in the file are known. */
  readonly check?: (document: Cursor, dir: string) => Promise<readonly Finding[]>;
}

export type LoadResult<Loaded> =
  | {
      readonly ok: true;
      readonly configuration: Loaded;
      /** The file with placeholders expanded and defaults filled in, in the form of the file. Contains secrets. */
      readonly document: Readonly<Record<string, unknown>>;
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

const MAX_FILE_BYTES = 1_048_576;

export async function loadConfiguration(
  file: string,
  options: LoadOptions & { readonly sections?: never },
): Promise<LoadResult<Configuration>>;
export async function loadConfiguration<const Names extends Section>(
  file: string,
  options: LoadOptions<Names> & { readonly sections: readonly Names[] },
): Promise<LoadResult<Selected<Names>>>;
export async function loadConfiguration(file: string, options: LoadOptions): Promise<LoadResult<Configuration>> {
  const source = await readSource(file);
  if ('found' in source) return { ok: false, faults: [{ file, line: 1, column: 1, path: '', ...source }] };
  const yaml = readYaml(source.text);
  const faults = new Faults(file, yaml.marks);
  for (const { position, path, found, allowed } of yaml.faults)
    faults.add({ ...position, path: displayPath(path), found, allowed });
  if (!yaml.readable) return faults.result();

  const selection = new Selection(options.sections, options.leaveOut);
  const schema = selection.restrict(ROOT_SCHEMA);
  const dir = dirname(resolve(file));
  if (!isMap(yaml.value)) {
    faults.report([notMap([], yaml.value)]);
    return faults.result();
  }
  // Aliases are expanded by now, so placeholders in unused anchors do not matter.
  const { definitions, ...content } = yaml.value;
  if (definitions !== undefined && !isMap(definitions)) faults.report([notMap(['definitions'], definitions)]);
  const read = selection.prune(ROOT_SCHEMA, content);
  const expansion = await expand(read, schema, { env: options.env, dir });
  const { origins } = expansion;
  const { document, written: sizes } = readSizes(schema, expansion.document);
  const written: Written = (path) => yaml.marks.get(pointerOf(path))?.text ?? sizes.get(pointerOf(path));
  const unexpanded = new Set(expansion.findings.map(({ path }) => pointerOf(path)));
  faults.report(expansion.findings);
  for (const finding of compileCheck(schema)(document, written)) {
    const pointer = pointerOf(finding.path);
    const origin = origins.get(pointer);
    if (unexpanded.has(pointer)) continue;
    faults.report([origin === undefined ? finding : { ...finding, found: `the value of ${origin} [hidden]` }]);
  }
  const complete = fillDefaults(schema, document);
  const cursor = new Cursor(complete);
  faults.report(installerRules(cursor, written));
  faults.report(processRules(cursor, new Cursor(document)));
  faults.report((await options.check?.(cursor, dir)) ?? []);
  if (faults.any) return faults.result();

  derive(complete, written);
  const exposed = source.readableByOthers && holdsLiteralSecret(schema, document, origins);
  return {
    ok: true,
    configuration: configurationOf(schema, complete, dir),
    document: complete as Readonly<Record<string, unknown>>,
    warnings: [
      ...(exposed ? [`${file} holds secrets and can be read by every user of this machine`] : []),
      ...warningsOf(schema, document, complete),
    ],
  };
}

const configurationOf = (schema: SchemaNode, complete: unknown, dir: string): Configuration =>
  finish(resolveForms(schema, complete, dir) as RootFile);

/** The configuration of the file's document after changes that keep it valid. */
export const changedConfiguration = (file: string, document: unknown): Configuration =>
  configurationOf(ROOT_SCHEMA, document, dirname(resolve(file)));

const notMap = (path: Path, value: unknown): Finding => ({
  path,
  found: foundAt({ type: 'object' }, value),
  allowed: 'a map',
});

type Source = { readonly text: string; readonly readableByOthers: boolean } | Pick<ConfigFault, 'found' | 'allowed'>;

async function readSource(file: string): Promise<Source> {
  try {
    await using handle = await open(file);
    const { mode } = await handle.stat();
    const chunks: Buffer[] = [];
    for await (const chunk of handle.createReadStream({ end: MAX_FILE_BYTES })) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    if (bytes.length > MAX_FILE_BYTES)
      return { found: `more than ${MAX_FILE_BYTES} bytes`, allowed: `at most ${MAX_FILE_BYTES} bytes` };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, readableByOthers: (mode & 0o004) !== 0 };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      return { found: 'bytes that are not UTF-8', allowed: 'UTF-8 text' };
    return { found: `a file ${unreadable(error).replace('which', 'that')}`, allowed: 'a readable YAML file' };
  }
}

/** Collects findings and adds the position in the file to each. */
class Faults {
  readonly #file: string;
  readonly #marks: ReadonlyMap<string, Mark>;
  readonly #faults: ConfigFault[] = [];

  constructor(file: string, marks: ReadonlyMap<string, Mark>) {
    this.#file = file;
    this.#marks = marks;
  }

  get any(): boolean {
    return this.#faults.length > 0;
  }

  add(fault: Omit<ConfigFault, 'file'>): void {
    this.#faults.push({ file: this.#file, ...fault });
  }

  report(findings: readonly Finding[]): void {
    for (const { path, found, allowed, atKey } of findings)
      this.add({ ...this.#place(path, atKey ?? false), path: displayPath(path), found, allowed });
  }

  /** In the order of the file. */
  result(): { readonly ok: false; readonly faults: readonly ConfigFault[] } {
    return { ok: false, faults: this.#faults.toSorted((a, b) => a.line - b.line || a.column - b.column) };
  }

  /** A missing key is reported at the map that should have it. */
  #place(path: Path, atKey: boolean): Position {
    const own = this.#marks.get(pointerOf(path));
    if (own) return atKey ? (own.key ?? own.value) : own.value;
    for (let length = path.length - 1; length >= 0; length--) {
      const outer = this.#marks.get(pointerOf(path.slice(0, length)));
      if (outer) return outer.key ?? outer.value;
    }
    return { line: 1, column: 1 };
  }
}
