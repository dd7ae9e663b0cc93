import t from 'tap';
import { Components } from '../../../../http/kernel/openapi/components.ts';
import { Type } from '../../../../http/kernel/openapi/schema-node.ts';

const Color = Type.Enum(['red', 'blue'], { title: 'Color' });
const Part = Type.Named('Part', { color: Color, title: Type.String() });

t.test('a reference takes the place of a named schema, wherever it is', async (t) => {
  const components = new Components();
  const Whole = Type.Named('Whole', {
    part: Part,
    parts: Type.Array(Part),
    maybe: Type.Union([Part, Type.Null()]),
    byName: Type.Record(Type.String(), Part),
  });
  const part = { $ref: '#/components/schemas/Part' };
  t.strictSame(components.referenced(Whole), { $ref: '#/components/schemas/Whole' });
  t.strictSame(Object.keys(components.schemas), ['Color', 'Part', 'Whole']);
  t.match(components.schemas.Whole, {
    properties: {
      part,
      parts: { items: part },
      maybe: { anyOf: [part, { type: 'null' }] },
      byName: { patternProperties: { '^.*$': part } },
    },
  });
});

t.test('a property that is called title is no name of a schema', async (t) => {
  const components = new Components();
  components.referenced(Part);
  t.match(components.schemas.Part, {
    properties: { color: { $ref: '#/components/schemas/Color' }, title: { type: 'string' } },
  });
});

t.test('a named schema has its own description and default in each place', async (t) => {
  const components = new Components();
  t.strictSame(components.referenced({ ...Color, description: 'Of the wall' }), {
    $ref: '#/components/schemas/Color',
    description: 'Of the wall',
  });
  t.strictSame(components.referenced({ ...Color, default: 'red' }), {
    $ref: '#/components/schemas/Color',
    default: 'red',
  });
  t.strictSame(components.schemas, { Color: { enum: ['red', 'blue'] } });
});

t.test('two different schemas cannot have one name', async (t) => {
  const components = new Components();
  components.referenced(Color);
  t.throws(() => components.referenced(Type.Named('Color', { a: Type.Null() })), /two schemas are named Color/);
});
