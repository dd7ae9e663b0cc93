// Our builders give what TypeBox's give, as JSON and as parts of each other.

import t from 'tap';
import { Type as TypeBox } from 'typebox';
import { membersOf, schemaWords, Type } from '../../../../http/kernel/openapi/schema-node.ts';

const written = (Builder: Omit<typeof Type, 'Named'>): Readonly<Record<string, object>> => ({
  string: Builder.String({ minLength: 1, pattern: '^a', description: 'Text' }),
  integer: Builder.Integer({ minimum: 1 }),
  number: Builder.Number(),
  boolean: Builder.Boolean({ default: false }),
  null: Builder.Null(),
  unknown: Builder.Unknown({ description: 'Whatever' }),
  list: Builder.Array(Builder.String(), { maxItems: 3 }),
  choice: Builder.Enum(['a', 'b'], { description: 'One of two' }),
  union: Builder.Union([Builder.Null(), Builder.Integer()], { description: 'Maybe' }),
  map: Builder.Record(Builder.String(), Builder.Unknown()),
  'map of some keys': Builder.Record(Builder.String({ pattern: '^x' }), Builder.Integer(), { minProperties: 1 }),
  foreign: Builder.Unsafe<number>({ type: 'number', multipleOf: 2 }),
  'object of nothing': Builder.Object({}),
  'object with nothing that is required': Builder.Object({ a: Builder.Optional(Builder.Null()) }),
  'nested objects': Builder.Object(
    {
      needed: Builder.Object({ z: Builder.Integer(), a: Builder.String() }),
      maybe: Builder.Optional(Builder.Array(Builder.Object({ b: Builder.Optional(Builder.Enum(['x'])) }))),
      last: Builder.Boolean(),
    },
    { additionalProperties: false, description: 'All' },
  ),
});

t.test('each builder gives what the one of TypeBox of the same name gives', async (t) => {
  const theirs = written(TypeBox);
  for (const [name, ours] of Object.entries(written(Type)))
    t.equal(JSON.stringify(ours), JSON.stringify(theirs[name]), name);
});

t.test('a named object is an object with a title', async (t) => {
  t.strictSame(
    JSON.parse(JSON.stringify(Type.Named('Thing', { a: Type.Null() }, { description: 'A thing' }))),
    JSON.parse(JSON.stringify(TypeBox.Object({ a: TypeBox.Null() }, { title: 'Thing', description: 'A thing' }))),
  );
});

t.test('a copy of what is optional is not, in either', async (t) => {
  for (const Builder of [Type, TypeBox]) {
    const copied = { ...Builder.Optional(Builder.String()) };
    t.strictSame(JSON.parse(JSON.stringify(Builder.Object({ copied }))).required, ['copied']);
  }
});

t.test('a schema is told in words', async (t) => {
  for (const [schema, words] of [
    [{ type: 'string' }, 'text'],
    [{ type: 'string', minLength: 3, maxLength: 40 }, 'text of 3 to 40 characters'],
    [{ type: 'string', minLength: 10 }, 'text of at least 10 characters'],
    [{ type: 'string', pattern: '^[a-z]+$' }, 'text matching ^[a-z]+$'],
    [{ type: 'string', format: 'date-time' }, 'date-time'],
    [{ type: 'string', contentMediaType: 'application/octet-stream' }, 'file'],
    [{ type: 'integer', minimum: -1, maximum: 365, default: -1 }, 'integer, -1 to 365; default -1'],
    [{ type: 'integer', minimum: 1 }, 'integer, at least 1'],
    [{ enum: ['asc', 'desc'], default: 'desc' }, '"asc" or "desc"; default "desc"'],
    [{ type: 'array', items: { type: 'object' }, uniqueItems: true }, 'list of objects, each once'],
    [
      { type: 'array', items: { type: 'string', maxLength: 5 }, minItems: 1 },
      'list of text of at most 5 characters, at least 1',
    ],
    [{ anyOf: [{ type: 'object' }, { type: 'object' }] }, 'object'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'text, or null'],
    [
      { type: 'object', additionalProperties: { type: 'integer', minimum: 0 } },
      'object by key, each integer, at least 0',
    ],
    [{}, 'anything'],
  ] as const)
    t.equal(schemaWords(schema), words);
});

t.test('members are those of the object, of the objects in a list, and of every alternative', async (t) => {
  const one = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } as const;
  const other = { type: 'object', properties: { b: { type: 'boolean' } } } as const;
  const names = (schema: Parameters<typeof membersOf>[0]): readonly string[] =>
    membersOf(schema).map(({ name, required }) => `${name}${required ? '*' : ''}`);
  t.strictSame(names(one), ['a*']);
  t.strictSame(names({ type: 'array', items: one }), ['a*']);
  t.strictSame(names({ anyOf: [one, other] }), ['a*', 'b']);
  t.strictSame(names({ type: 'string' }), []);
});
