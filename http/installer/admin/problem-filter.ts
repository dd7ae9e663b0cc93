// How requests select problems: by the same fields in queries and in bodies.

import type { TSchema } from 'typebox';
import { type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import { parseDatasetId, parseUserId } from '../../../engine/model/ids.ts';
import {
  PROBLEM_LANES,
  PROBLEM_LISTS,
  PROBLEM_STATES,
  type ProblemFilter,
  type ProblemPlace,
} from '../../../engine/ports/problems.ts';
import { quote } from '../../kernel/input/describe.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { momentOf } from './admin-route.ts';

const MAX_TEXT = 1_000;
const text = (description: string, maxLength = MAX_TEXT) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }));
const moment = (description: string) => Type.Optional(Type.String({ minLength: 10, maxLength: 19, description }));

/** As fields of a body. */
export const problemFields = {
  lane: Type.Optional(Type.Enum([...PROBLEM_LANES], { description: 'Only problems of this lane or service' })),
  state: Type.Optional(
    Type.Enum([...PROBLEM_STATES], { description: 'Only problems in this state; absent = all but `delayed`' }),
  ),
  plugin: text('Only datasets of this plugin: its key in the configuration'),
  type: text('Only datasets of this type: `NAME@VERSION`, or `NAME` for all versions'),
  target: text('Only installs on this install target'),
  owner: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,18}$', description: 'Only datasets of this user' })),
  dataset: text('Only this dataset', 64),
  contains: text('Only messages that contain this text, in any case'),
  cause: text('Only this cause, as the list of causes has it'),
  from: moment('Only what failed then or later: the beginning of 2026-01-02T03:04:05, from its date on, in UTC'),
  before: moment('Only what failed before then; given as `from` is'),
};

type FieldName = keyof typeof problemFields;

/** The same as query parameters. */
export const problemParameters = Object.fromEntries(
  Object.entries<TSchema & { readonly description?: string }>(problemFields).map(
    ([name, { description, ...schema }]) => [name, { description: String(description), schema }],
  ),
);

export type AskedProblems = { readonly [Name in FieldName]?: string };

export function askedIn(fields: Readonly<Record<string, unknown>>): AskedProblems {
  const names = Object.keys(problemFields).filter((name) => fields[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, String(fields[name])]));
}

/** @param fault throws an error about the field; the sentence continues the field's name */
export function filterOf(
  asked: AskedProblems,
  dataTypes: DataTypes,
  fault: (field: FieldName, sentence: string) => never,
): ProblemFilter {
  const { plugin, type, target, owner, dataset, contains, cause } = asked;
  const lane = PROBLEM_LANES.find((one) => one === asked.lane);
  const state = PROBLEM_STATES.find((one) => one === asked.state);
  const read = (field: 'from' | 'before'): Date | undefined => {
    const given = asked[field];
    if (given === undefined) return undefined;
    return (
      momentOf(given) ??
      fault(field, `is ${quote(given)}: expected a date such as 2026-01-02, or a longer part of 2026-01-02T03:04:05`)
    );
  };
  const [from, before] = [read('from'), read('before')];
  const user =
    owner === undefined ? undefined : (parseUserId(owner) ?? fault('owner', `is ${quote(owner)}: no user id`));
  const id =
    dataset === undefined
      ? undefined
      : (parseDatasetId(dataset) ?? fault('dataset', `is ${quote(dataset)}: no dataset id`));
  const types = typesOf(plugin, type, dataTypes, fault);
  return {
    ...(lane ? { lane } : {}),
    ...(state ? { state } : {}),
    ...(types ? { types } : {}),
    ...(target === undefined ? {} : { target }),
    ...(user ? { owner: user } : {}),
    ...(id ? { dataset: id } : {}),
    ...(contains === undefined ? {} : { contains }),
    ...(cause === undefined ? {} : { cause }),
    ...(from ? { from } : {}),
    ...(before ? { before } : {}),
  };
}

/** Types that are not configured are allowed, because a missing type may be the cause of the problems. */
function typesOf(
  plugin: string | undefined,
  type: string | undefined,
  dataTypes: DataTypes,
  fault: (field: FieldName, sentence: string) => never,
): readonly string[] | undefined {
  const asked = type === undefined ? undefined : keyOf(type);
  if (plugin === undefined) return asked === undefined ? undefined : [asked];
  const all = dataTypes.all();
  const served = all.filter((one) => one.plugin === plugin).map(typeKey);
  if (served.length === 0) {
    const plugins = [...new Set(all.map((one) => one.plugin))].join(', ') || 'none';
    fault('plugin', `is ${quote(plugin)}: there is no such plugin; there is: ${plugins}`);
  }
  return asked === undefined ? served : served.filter((key) => key === asked || key.split(':')[0] === asked);
}

function keyOf(type: string): string {
  const at = type.lastIndexOf('@');
  return at < 0 ? type.toLowerCase() : typeKey({ name: type.slice(0, at), version: type.slice(at + 1) });
}

// The place where a page ends, as an opaque text for clients.

export const cursorOf = ({ list = PROBLEM_LISTS[0], until, since, id }: ProblemPlace): string =>
  Buffer.from([list, until, since, id].join(' ')).toString('base64url');

/** Undefined when the text is no cursor. */
export function placeOf(cursor: string): ProblemPlace | undefined {
  const [, name, until, since, id] =
    /^([a-z]+) (\d{1,16}) (\d{1,16}) ([\w:.-]*)$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const list = PROBLEM_LISTS.find((one) => one === name);
  if (!list || until === undefined || since === undefined || id === undefined) return undefined;
  return { list, until, since, id };
}
