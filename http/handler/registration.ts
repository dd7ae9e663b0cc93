// Reads the body of PUT /job/{job-id}. A body that cannot be read is 400. Invalid values are 422 with one text per key.

import type { IncomingMessage } from 'node:http';
import { hiddenCharacter, hiddenWords } from '../../engine/model/file-name.ts';
import {
  HANDLER_ORIGINS,
  type HandlerOrigin,
  type JobRegistration,
  optionLike,
} from '../../engine/model/handler-job.ts';
import { parseUserId, type UserId } from '../../engine/model/ids.ts';
import { isObject } from '../../engine/model/json.ts';
import { decodeDocument } from '../../engine/model/utf8.ts';
import { isJsonType, parseJsonText, readBytes } from '../kernel/bodies/body.ts';
import { badRequest, HttpError } from '../kernel/pipeline/errors.ts';

const MAX_METADATA_BYTES = 1024 * 1024;
const MIN_NAME = 3;

/** Faults by key. Several faults of a key are joined into one text. */
class Faults {
  readonly #byKey = new Map<string, string>();

  add(key: string, message: string): void {
    const before = this.#byKey.get(key);
    this.#byKey.set(key, before === undefined ? message : `${before}; ${message}`);
  }

  check(): void {
    if (this.#byKey.size > 0) throw invalidJob('the job metadata is not valid', [], Object.fromEntries(this.#byKey));
  }
}

/** The 422 of this service, with one text per key. */
export const invalidJob = (
  message: string,
  general: readonly string[],
  byKey: Readonly<Record<string, string>> = {},
): HttpError => new HttpError('invalid-input', message, { extra: { errors: { general, byKey } } });

/**
 * @param projects ids of the configured install targets
 * @param templates the arguments of all configured commands
 */
export async function readRegistration(
  request: IncomingMessage,
  projects: ReadonlySet<string>,
  templates: readonly string[],
): Promise<JobRegistration> {
  const given = request.headers['content-type'];
  if (given === undefined) throw badRequest('there is no Content-Type header: expected application/json');
  if (!isJsonType(given)) throw badRequest(`Content-Type '${given}' is not supported: expected application/json`);
  const bytes = await readBytes(request, MAX_METADATA_BYTES).catch((error: unknown) => {
    throw error instanceof HttpError ? badRequest(error.message) : error;
  });
  const value = parseJsonText(bytes, 'the body');
  if (!isObject(value)) throw badRequest('the body is not a JSON object');
  // Our parser turns user ids into strings. Only JSON.parse shows whether `owner` was a number.
  const bare = JSON.parse(decodeDocument(bytes) ?? '') as Record<string, unknown>;
  return registrationOf(
    { ...(value as Record<string, unknown>), ownerIsNumber: typeof bare.owner === 'number' },
    projects,
    templates,
  );
}

type Fields = Readonly<Record<string, unknown>>;

function registrationOf(fields: Fields, projects: ReadonlySet<string>, templates: readonly string[]): JobRegistration {
  const faults = new Faults();
  const registration = {
    projects: projectsOf(fields.projects, projects, faults),
    owner: ownerOf(fields, faults),
    name: nameOf(fields.name, faults),
    ...optionalText('description', fields, faults),
    ...optionalText('summary', fields, faults),
    ...originOf(fields.origin, faults),
    ...paramsOf(fields.handlerParams, faults),
  };
  faults.check();
  const checked = { ...registration, owner: registration.owner as UserId };
  for (const [key, message] of optionLike(templates, checked)) faults.add(key, message);
  faults.check();
  return checked;
}

function projectsOf(value: unknown, known: ReadonlySet<string>, faults: Faults): readonly string[] {
  if (!Array.isArray(value)) {
    faults.add('projects', value === undefined ? 'is required' : 'must be an array of project ids');
    return [];
  }
  if (value.length === 0) faults.add('projects', 'must name at least one project');
  const seen = new Set<unknown>();
  for (const project of value as readonly unknown[]) {
    if (typeof project !== 'string') faults.add('projects', 'must hold texts only');
    else if (seen.has(project)) faults.add('projects', `names ${shown(project)} twice`);
    else if (!known.has(project))
      faults.add('projects', `${shown(project)} is no project; known: ${[...known].join(', ')}`);
    seen.add(project);
    // There is a fault by now. A list of thousands need not be checked to its end.
    if (seen.size > known.size + 1) break;
  }
  return value as readonly string[];
}

function ownerOf({ owner, ownerIsNumber }: Fields, faults: Faults): UserId | undefined {
  const id = ownerIsNumber && typeof owner === 'string' ? parseUserId(owner) : undefined;
  if (owner === undefined) faults.add('owner', 'is required');
  else if (!id) faults.add('owner', 'must be a user id: a whole number above 0');
  return id;
}

function nameOf(value: unknown, faults: Faults): string {
  if (value === undefined) faults.add('name', 'is required');
  const name = textOf('name', value, faults) ?? '';
  if (typeof value === 'string' && [...value].length < MIN_NAME)
    faults.add('name', `must have at least ${MIN_NAME} characters`);
  return name;
}

function optionalText<Key extends string>(key: Key, fields: Fields, faults: Faults): { readonly [K in Key]?: string } {
  const text = textOf(key, fields[key], faults);
  return (text === undefined ? {} : { [key]: text }) as { readonly [K in Key]?: string };
}

/** Refuses NUL, because it would end an argument of a program. */
function textOf(key: string, value: unknown, faults: Faults): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') faults.add(key, 'must be text');
  else if (value.includes('\0')) faults.add(key, 'must not hold the character NUL');
  else if (!value.isWellFormed()) faults.add(key, 'holds half of a surrogate pair, which is no character');
  else {
    const hidden = hiddenCharacter(value, key !== 'name');
    if (!hidden) return value;
    faults.add(key, `must not hold ${hiddenWords(hidden)}`);
  }
  return undefined;
}

function originOf(value: unknown, faults: Faults): { readonly origin?: HandlerOrigin } {
  if (value === undefined) return {};
  const origin = HANDLER_ORIGINS.find((known) => known === value);
  if (!origin) faults.add('origin', `must be one of ${HANDLER_ORIGINS.join(', ')}`);
  return origin ? { origin } : {};
}

function paramsOf(value: unknown, faults: Faults): { readonly handlerParams?: Readonly<Record<string, string>> } {
  if (value === undefined) return {};
  if (!isObject(value)) {
    faults.add('handlerParams', 'must be an object');
    return {};
  }
  const params = Object.entries(value).flatMap(([name, param]): (readonly [string, string])[] => {
    const key = `handlerParams.${name}`;
    if (typeof param === 'number' || typeof param === 'boolean') return [[name, String(param)]];
    if (typeof param !== 'string') {
      faults.add(key, 'must be text, a number, true or false');
      return [];
    }
    const text = textOf(key, param, faults);
    return text === undefined ? [] : [[name, text]];
  });
  return { handlerParams: Object.fromEntries(params) };
}

const shown = (text: string): string => `'${text.length > 60 ? `${text.slice(0, 60)}...` : text}'`;
