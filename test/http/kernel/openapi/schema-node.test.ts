// Our builders give what TypeBox's give, as JSON and as parts of each other.

import t from 'tap';
import { Type as TypeBox } from 'typebox';
import { Type } from '../../../../http/kernel/openapi/schema-node.ts';

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
