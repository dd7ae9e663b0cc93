// Every bound of every field that can be changed, tried at, below and above, in the wrapper that it comes in. The cases
// are generated from the schema of a create request, whose bounds another test holds against the contract.

import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { CreateDetails } from '../../../../http/installer/metadata/create-details.ts';
import { DetailsCheck } from '../../../../http/installer/metadata/details-check.ts';
import { PatchCheck } from '../../../../http/installer/metadata/patch-check.ts';
import {
  PATCHABLE_FIELDS,
  PatchDetails,
  RevisionDetails,
  readDetailsPatch,
  readRevisionPatch,
} from '../../../../http/installer/metadata/patch-details.ts';
import { metadata } from '../datasets.ts';
import { dataTypes, installTargets } from '../installation.ts';
import { tryBounds } from './bound-cases.ts';
import { keyOf, type Leaf, nodes, type Path, type Schema, sample } from './schema-cases.ts';

const ROOT = CreateDetails as unknown as Schema;
const NESTED = ['datasetCharacteristics', 'externalIdentifiers'];
const FIXED = ['installTargets', 'origin', 'dependencies'];

const patches = new PatchCheck(new DetailsCheck(installTargets(), dataTypes()), dataTypes());
const stored = metadata({ installTargets: [] });

/** Steps to the wrapper: one, or two where a field is changed member by member. */
const wrapperDepth = (path: Path): number => (NESTED.includes(String(path[0])) ? 2 : 1);
const wrappedKey = (path: Path): string => {
  const depth = wrapperDepth(path);
  return keyOf([...path.slice(0, depth), 'value', ...path.slice(depth)]);
};

/** A patch of the one field that the path is in, with the value put there. */
function patchOf(path: Path, value: unknown): Record<string, unknown> {
  const details = sample(ROOT) as Record<string | number, unknown>;
  let at = details;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  const last = path.at(-1) ?? '';
  if (value === undefined) delete at[last];
  else at[last] = value;
  const [field, member] = path.map(String) as [string, string];
  if (wrapperDepth(path) === 1) return { [field]: { value: details[field] } };
  return { [field]: { [member]: { value: (details[field] as Record<string, unknown>)[member] } } };
}

function faultsOf(body: unknown): Readonly<Record<string, readonly string[]>> {
  const patch = readDetailsPatch(body, '1.8.0');
  patches.check(stored, patch, new Date(0), () => undefined);
  return patch.faults.errors().byKey;
}

const all = nodes(ROOT).filter(({ path }) => !FIXED.includes(String(path[0])) && !NESTED.includes(keyOf(path)));
tryBounds(t, { nodes: all, keyOf: wrappedKey, texts: 96, put: (path, value) => faultsOf(patchOf(path, value)) });

const wrapperOf = ({ path }: Leaf): boolean => path.length === wrapperDepth(path);

const compiled = (schema: object) =>
  new Ajv2020({ strict: true, allowUnionTypes: true }).compile(JSON.parse(JSON.stringify(schema)) as object);

t.test('everything but targets, origin and dependencies can be changed', async (t) => {
  const fields = Object.keys(ROOT.properties ?? {}).filter((field) => !FIXED.includes(field));
  t.strictSame([...PATCHABLE_FIELDS].sort(), fields.sort());
  t.strictSame(Object.keys(PatchDetails.properties).sort(), fields.sort());
});

t.test('what a create request needs cannot be cleared, and the rest can', async (t) => {
  const required = ['name', 'summary', 'type'];
  for (const leaf of all.filter(wrapperOf)) {
    const blank = leaf.schema.type === 'string' && !leaf.schema.enum ? [null, ' \t'] : [null];
    for (const value of blank) {
      const found = faultsOf(patchOf(leaf.path, value));
      const key = wrappedKey(leaf.path);
      if (required.includes(leaf.key)) t.match(found[key]?.[0], /^is missing; .+ is required$/, key);
      else t.strictSame(found, {}, key);
    }
  }
});

t.test('the documented schema takes what is taken, and refuses what is refused', async (t) => {
  const documented = compiled(PatchDetails);
  for (const { path, schema } of all.filter(wrapperOf)) {
    const value = path[0] === 'type' ? { name: 'genelist', version: '1.0' } : sample(schema);
    for (const wrapper of [{ value }, { value: null }, {}, { value, more: 1 }, value]) {
      const [field, member] = path as [string, string | undefined];
      const body = { [field]: member === undefined ? wrapper : { [member]: wrapper } };
      t.equal(documented(body), Object.keys(faultsOf(body)).length === 0, JSON.stringify(body));
    }
  }
  for (const field of [...FIXED, 'owner', 'nonsense']) t.equal(documented({ [field]: { value: 'x' } }), false, field);
});

t.test('the documented schema of a revision asks for origin and note, plain or wrapped', async (t) => {
  const documented = compiled(RevisionDetails);
  const sound = { origin: 'a tool', revisionNote: '0123456789' };
  for (const more of [{}, { origin: { value: 'a tool' } }, { revisionNote: { value: '0123456789' } }]) {
    const body = { ...sound, ...more, name: { value: 'Genes' } };
    t.equal(documented(body), true, JSON.stringify(body));
    t.strictSame(readRevisionPatch(body, '1.8.0').faults.errors().byKey, {});
  }
  for (const wrong of [
    { origin: undefined },
    { revisionNote: undefined },
    { revisionNote: 'too short' },
    { more: 1 },
  ]) {
    const body = JSON.parse(JSON.stringify({ ...sound, ...wrong })) as object;
    t.equal(documented(body), false, JSON.stringify(body));
    const patch = readRevisionPatch(body, '1.8.0');
    patches.check(stored, patch, new Date(0), () => undefined);
    t.equal(patch.faults.empty, false, JSON.stringify(body));
  }
});
