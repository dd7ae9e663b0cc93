// A JSON Schema in words, for people: `text of 3 to 1024 characters`, and the members of an object one by one.

/** The keywords that our schemas use. */
export interface WordedSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, WordedSchema>>;
  readonly required?: readonly string[];
  readonly items?: WordedSchema;
  readonly anyOf?: readonly WordedSchema[];
  readonly additionalProperties?: boolean | WordedSchema;
  readonly patternProperties?: Readonly<Record<string, WordedSchema>>;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly contentMediaType?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
}

/** One phrase, without what is inside objects and without the description. */
export function schemaWords(schema: WordedSchema): string {
  const words = [kindOf(schema)];
  if (schema.default !== undefined) words.push(`default ${JSON.stringify(schema.default)}`);
  return words.join('; ');
}

/** The members of the object, or of the objects in the list; of a choice those of every alternative, each once. */
export function membersOf(
  schema: WordedSchema,
): readonly { readonly name: string; readonly required: boolean; readonly schema: WordedSchema }[] {
  if (schema.items) return membersOf(schema.items);
  const found = new Map(
    (schema.anyOf ?? []).flatMap((one) => membersOf(one)).map((member) => [member.name, member] as const),
  );
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    found.set(name, { name, required: schema.required?.includes(name) ?? false, schema: member });
  return [...found.values()];
}

function kindOf(schema: WordedSchema): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  // Alternatives may differ in what is inside alone.
  if (schema.anyOf) return [...new Set(schema.anyOf.map(kindOf))].join(', or ');
  switch (schema.type) {
    case 'string':
      return schema.contentMediaType === undefined ? textWords(schema) : 'file';
    case 'integer':
      return ['integer', ...range(schema.minimum, schema.maximum)].join(', ');
    case 'array':
      return `list of ${schema.items ? plural(schema.items) : 'anything'}${schema.uniqueItems ? ', each once' : ''}${schema.minItems ? `, at least ${schema.minItems}` : ''}`;
    case 'object': {
      const value = mappedTo(schema);
      return value === undefined ? 'object' : `object by key, each ${kindOf(value)}`;
    }
    default:
      return schema.type ?? 'anything';
  }
}

const plural = (items: WordedSchema): string => {
  const words = kindOf(items);
  return /^(object|file|integer)$/.test(words) ? `${words}s` : words;
};

/** Of an object that is a map. */
function mappedTo({ patternProperties, additionalProperties }: WordedSchema): WordedSchema | undefined {
  const [value] = Object.values(patternProperties ?? {});
  return value ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
}

function textWords({ format = 'text', minLength, maxLength, pattern }: WordedSchema): string {
  const length = range(minLength, maxLength).map((words) => ` of ${words} characters`);
  return [format, ...length, ...(pattern === undefined ? [] : [` matching ${pattern}`])].join('');
}

/** Empty without bounds. */
function range(low: number | undefined, high: number | undefined): readonly string[] {
  if (low !== undefined && high !== undefined) return [`${low} to ${high}`];
  if (low !== undefined) return [`at least ${low}`];
  return high === undefined ? [] : [`at most ${high}`];
}
