// Bodies of the dataset access service (docs/contract/access.md): readers, shared parts of the schemas, dates. A body that is
// not JSON or has the wrong top-level type is answered 400; all other faults are reported together in one 422.
//
// A user id is a JSON integer on the wire and decimal text in the program. Therefore bodies are validated without it, and
// documented with it.

import type { IncomingMessage } from 'node:http';
import type { TObject, TProperties } from 'typebox';
import { RESTRICTION_LEVELS } from '../../engine/model/access-request.ts';
import { readJsonList } from '../kernel/bodies/body.ts';
import { describeValue } from '../kernel/input/describe.ts';
import { Faults } from '../kernel/input/faults.ts';
import { Type, UserIdOutput } from '../kernel/openapi/schema-node.ts';
import { badRequest } from '../kernel/pipeline/errors.ts';

export interface PatchItem {
  readonly op: string;
  readonly path: string;
  /** Undefined when there is none. */
  readonly value: unknown;
}

/** The items of a JSON patch, at least one. The caller decides which of them are allowed. */
export async function readPatch(request: IncomingMessage): Promise<readonly PatchItem[]> {
  const read = await readJsonList(request, 'patch items');
  if (read.length === 0) throw badRequest('the body is an empty list; expected at least one patch item');
  const faults = new Faults();
  const items = read.map((item: unknown, i) => patchItem(item, i, faults));
  faults.throwIfAny();
  return items;
}

function patchItem(item: unknown, i: number, faults: Faults): PatchItem {
  const { op, path, value } = typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : {};
  for (const [name, given] of Object.entries({ op, path }))
    if (typeof given !== 'string') faults.add([i, name], `is ${describeValue(given)}; text is required`);
  return { op: String(op), path: String(path), value };
}

/** The value of a patch that may only replace one flag. The last item wins. */
export async function readFlagPatch(request: IncomingMessage, path: string): Promise<boolean> {
  const items = await readPatch(request);
  const faults = new Faults();
  for (const [i, item] of items.entries()) {
    if (item.op !== 'replace') faults.add([i, 'op'], `is ${describeValue(item.op)}; allowed is 'replace'`);
    if (item.path !== path) faults.add([i, 'path'], `is ${describeValue(item.path)}; allowed is '${path}'`);
    if (typeof item.value !== 'boolean')
      faults.add([i, 'value'], `is ${describeValue(item.value)}; true or false is required`);
  }
  faults.throwIfAny();
  return items.at(-1)?.value === true;
}

export const CLOSED = { additionalProperties: false } as const;
/** The largest number of characters in a text. */
export const MAX_TEXT = 32_768;
export const text = Type.String({ maxLength: MAX_TEXT });
export const id = Type.Integer({ format: 'int64', minimum: 1 });
export const count = Type.Integer({ format: 'int64', minimum: 0 });
export const level = Type.Enum([...RESTRICTION_LEVELS]);

/** The schema of a body as it is documented. */
export const documented = <Properties extends TProperties>(schema: TObject<Properties>): object => ({
  ...schema,
  properties: { ...schema.properties, userId: { ...UserIdOutput } },
});

export const PatchItems = Type.Array(
  Type.Object({
    op: Type.String(),
    path: Type.String(),
    value: Type.Optional(Type.Unknown()),
    from: Type.Optional(Type.String()),
  }),
);

export const User = Type.Named('User', {
  userId: UserIdOutput,
  firstName: Type.String(),
  lastName: Type.String(),
  organization: Type.String(),
  email: Type.String(),
});

export const paged = (item: ReturnType<typeof Type.Object>) =>
  Type.Object({ data: Type.Array(item), rows: count, offset: count, total: count });

const DATE = /^(\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Parses a date, or a date and time, of ISO 8601; in UTC if it has no offset. Undefined for anything else. */
export function parseDate(text: string): Date | undefined {
  const [, year = '', month = '', day = '', offset] = DATE.exec(text) ?? [];
  if (year === '' || Number(year) < 1) return undefined;
  // JavaScript would read days beyond the end of a month as days of the next month.
  const calendar = new Date(0);
  calendar.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (calendar.getUTCMonth() !== Number(month) - 1 || calendar.getUTCDate() !== Number(day)) return undefined;
  const date = new Date(text.includes('T') && offset === undefined ? `${text}Z` : text);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** The contract's `datetime-only`: UTC without an offset. */
export const dateTimeOnly = (date: Date): string => date.toISOString().slice(0, -1);
