// Sections of the file. A command names the sections that it reads. Only those are checked, and only their placeholders are
// expanded, so that a plugin host, for example, needs no password of the cache DB.

import type { Configuration } from './configuration.ts';
import { isMap } from './path.ts';
import type { SchemaNode } from './schema-node.ts';

type Root = keyof Configuration & string;
/** Sections that a command may read in part. */
type Divided = 'containerCore' | 'installer';

export type Section =
  | Root
  | `installer.${keyof Configuration['installer'] & string}`
  | `containerCore.${keyof Configuration['containerCore'] & string}`;

/** The configuration after loading these sections; a divided section has only the parts that were named. */
export type Selected<Names extends Section> = Pick<Configuration, Root & Names> & {
  readonly [Name in Divided as [PartsOf<Name, Names>] extends [never] ? never : Name]: Pick<
    Configuration[Name],
    PartsOf<Name, Names>
  >;
};
type PartsOf<Name extends Divided, Names extends Section> = Extract<
  Names extends `${Name}.${infer Part}` ? Part : never,
  keyof Configuration[Name]
>;

/** Values of other sections that a section's defaults or rules depend on. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  'installer.plugins': ['installer.restService', 'installer.siteBuild', 'pluginHost'],
  installer: ['pluginHost'],
  pluginHost: ['containerCore.http'],
  handler: ['containerCore.http', 'containerCore.ports'],
};
/** Databases of an install target. A command that needs one of them needs no password of the other. */
export type TargetDatabase = 'controlDb' | 'dataDb';
const TARGETS = 'installer.installTargets';

const ALWAYS = new Set(['$schema', 'definitions']);

/** A duration becomes milliseconds under a key that ends in `Ms` (forms.ts). */
const keyInFile = (section: Section): string => section.replace(/Ms$/, '');

/** Decides which keys of a document are read. */
export class Selection {
  readonly #names: ReadonlySet<string> | undefined;
  readonly #leaveOut: readonly string[];

  constructor(sections: readonly Section[] | undefined, leaveOut: readonly TargetDatabase[] = []) {
    this.#leaveOut = leaveOut;
    if (!sections) return;
    const names = new Set(sections.map(keyInFile));
    // Iterating a Set includes items that are added meanwhile.
    for (const name of names) for (const needed of NEEDS[name] ?? []) names.add(needed);
    this.#names = names;
  }

  #reads(path: readonly string[]): 'whole' | 'part' | 'no' {
    if (!this.#names || path.some((_, i) => this.#names?.has(path.slice(0, i + 1).join('.')))) return 'whole';
    const [first = ''] = path;
    if (path.length === 1 && ALWAYS.has(first)) return 'whole';
    return [...this.#names].some((name) => name.startsWith(`${path.join('.')}.`)) ? 'part' : 'no';
  }

  /** The document without the parts that are not read. Unknown keys stay, so that they are reported. */
  prune(schema: SchemaNode, document: unknown, path: readonly string[] = []): unknown {
    if (!isMap(document)) return document;
    const kept = Object.entries(document).flatMap(([key, value]): [string, unknown][] => {
      const child = schema.properties?.[key];
      const reads = child ? this.#reads([...path, key]) : 'whole';
      if (reads === 'no') return [];
      if (reads === 'part' && child) return [[key, this.prune(child, value, [...path, key])]];
      return [[key, [...path, key].join('.') === TARGETS ? this.#withoutDatabases(value) : value]];
    });
    return Object.fromEntries(kept);
  }

  /** The schema of the parts that are read. */
  restrict(schema: SchemaNode, path: readonly string[] = []): SchemaNode {
    const properties: Record<string, SchemaNode> = {};
    const absent = new Set<string>();
    for (const [key, child] of Object.entries(schema.properties ?? {})) {
      const reads = this.#reads([...path, key]);
      if (reads === 'no') absent.add(key);
      if (reads === 'part') properties[key] = this.restrict(child, [...path, key]);
      else if (reads === 'no') properties[key] = {};
      else properties[key] = [...path, key].join('.') === TARGETS ? this.#lessDemanding(child) : child;
    }
    return { ...schema, properties, required: (schema.required ?? []).filter((key) => !absent.has(key)) };
  }

  #withoutDatabases(targets: unknown): unknown {
    if (this.#leaveOut.length === 0 || !Array.isArray(targets)) return targets;
    const kept = (target: object) => Object.entries(target).filter(([key]) => !this.#leaveOut.includes(key));
    return targets.map((target: unknown) => (isMap(target) ? Object.fromEntries(kept(target)) : target));
  }

  /** The schema of targets without the databases that are not read, so that they are not reported as missing. */
  #lessDemanding(list: SchemaNode): SchemaNode {
    const { items } = list;
    if (this.#leaveOut.length === 0 || items?.then === undefined) return list;
    const required = items.then.required?.filter((key) => !this.#leaveOut.includes(key)) ?? [];
    // biome-ignore lint/suspicious/noThenProperty: the JSON Schema keyword
    return { ...list, items: { ...items, then: { ...items.then, required } } };
  }
}
