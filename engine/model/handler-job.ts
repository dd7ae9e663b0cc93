// A job of the handler service: what its caller registered, and its states. Clients read the texts of the states.
//
//   (none) --PUT--> awaiting upload --POST--> uploading --place free--> unpacking --> processing --> completed
//                        ^                        |                         |              |
//                        +---- body refused ------+------- body refused ----+              |
//                                                 +-------------------------+--------------+-----> failed
// A job that has ended, or that waits for its upload, is replaced by a new registration under its id. When the process of a
// running job dies, the next process that checks marks the job as failed.

import { Failure, rejected } from '../runtime/failure.ts';
import { hiddenCharacter } from './file-name.ts';
import type { UserId } from './ids.ts';

export const HANDLER_STATUS = {
  awaiting: 'awaiting upload',
  uploading: 'uploading files for processing',
  unpacking: 'unpacking uploaded files',
  processing: 'processing uploaded files',
  completed: 'job completed',
  failed: 'job failed',
} as const;
export type HandlerState = keyof typeof HANDLER_STATUS;

/** Which states a job may come from. */
export const HANDLER_MOVES = {
  uploading: ['awaiting'],
  awaiting: ['uploading', 'unpacking'],
  unpacking: ['uploading'],
  processing: ['unpacking'],
  completed: ['processing'],
  failed: ['uploading', 'unpacking', 'processing'],
} as const satisfies Record<HandlerState, readonly HandlerState[]>;

export const RUNNING_STATES = ['uploading', 'unpacking', 'processing'] as const satisfies readonly HandlerState[];

export const isRunning = (state: HandlerState): boolean => (RUNNING_STATES as readonly HandlerState[]).includes(state);

export const HANDLER_ORIGINS = ['galaxy', 'direct-upload'] as const;
export type HandlerOrigin = (typeof HANDLER_ORIGINS)[number];

/** What a caller registers about a job before it uploads (docs/contract/handler.md#job-metadata). */
export interface JobRegistration {
  /** At least one, no duplicates, all configured. */
  readonly projects: readonly string[];
  readonly owner: UserId;
  /** At least 3 characters. */
  readonly name: string;
  readonly description?: string;
  readonly summary?: string;
  readonly origin?: HandlerOrigin;
  /** Scalars as text; injected into commands by name. */
  readonly handlerParams?: Readonly<Record<string, string>>;
}

const MAX_ID_CHARACTERS = 128;

/** 1 to 128 visible characters; undefined for anything else. Never used as a path: jobs have internal ids. */
export function parseJobId(text: string): string | undefined {
  const length = [...text].length;
  return length >= 1 && length <= MAX_ID_CHARACTERS && !hiddenCharacter(text) ? text : undefined;
}

/** Prefix of everything that the object store keeps for a job. */
export const handlerPrefix = (id: string): string => `handler/${id}/`;
export const handlerResultKey = (id: string): string => `${handlerPrefix(id)}result.tgz`;

// Arguments of commands with the job's values put in. One pass: what was put in is never looked at again, so that a name
// such as `<<cwd>>` is a name. Each argument stays one argument, whatever is in the values; only `<<input-files>>` makes
// several of one. A value never begins an argument with a dash: programs would take it for an option, and some options run
// programs. Templates that put text before a value (`--name=<<ds-name>>`) take any.

export interface TemplateValues {
  /** Absolute. */
  readonly cwd: string;
  readonly started: Date;
  readonly registration: JobRegistration;
  /** Top-level names of what was unpacked, sorted. */
  readonly inputFiles: readonly string[];
}

/** Keys of the registration behind variables. */
const KEYS: Readonly<Record<string, string>> = {
  'ds-description': 'description',
  'ds-name': 'name',
  'ds-summary': 'summary',
};

/** Quotes around a parameter go with it; around all input files they stay and make one argument of them. */
const VARIABLE = /"<<handler-params\.([\w-]+)>>"|<<handler-params\.([\w-]+)>>|<<([a-z-]+)(?:\[([^\]>]*)\])?>>/g;

/** A text of the user's that would be taken for an option. */
class OptionLike extends Failure {
  /** Of the registration. */
  readonly key: string;

  constructor(key: string, value: string) {
    const start = value.length > 60 ? `${value.slice(0, 60)}...` : value;
    super('rejected', `'${key}' is '${start}': it begins an argument of a command, so it must not begin with '-'`);
    this.name = 'OptionLike';
    this.key = key;
  }
}

/** What of a registration would begin an argument of these commands with a dash: `[key, message]`. */
export function optionLike(templates: readonly string[], registration: JobRegistration): Map<string, string> {
  const faults = new Map<string, string>();
  for (const template of templates) {
    try {
      fill(template, { cwd: '/', started: new Date(0), registration, inputFiles: [] });
    } catch (error) {
      if (error instanceof OptionLike) faults.set(error.key, error.message);
      // What else may be missing is said when the job runs.
      else if (!(error instanceof Failure)) throw error;
    }
  }
  return faults;
}

/** Fails `rejected`, naming the variable, when a parameter or an input file is not there, or would be taken for an option. */
export function fillArguments(templates: readonly string[], values: TemplateValues): string[] {
  return templates.flatMap((template) => fill(template, values));
}

function fill(template: string, values: TemplateValues): string[] {
  const done: string[] = [];
  let text = '';
  let split = false;
  let from = 0;
  for (const match of template.matchAll(VARIABLE)) {
    const [whole, quoted, plain, name = '', index] = match;
    const end = match.index + whole.length;
    text += template.slice(from, match.index);
    from = end;
    const parameter = quoted ?? plain;
    const put = (key: string, value: string): void => {
      if (text === '' && value.startsWith('-')) throw new OptionLike(key, value);
      text += value;
    };
    if (parameter !== undefined) put(`handlerParams.${parameter}`, parameterOf(parameter, values));
    else if (name !== 'input-files')
      put(KEYS[name] ?? name, (index === undefined ? simple(name, values) : undefined) ?? whole);
    else if (index !== undefined) text += fileAt(index, values);
    else if (template[match.index - 1] === '"' && template[end] === '"') text += files(values).join(' ');
    else {
      if (text !== '') done.push(text);
      done.push(...files(values));
      text = '';
      split = true;
    }
  }
  text += template.slice(from);
  return text === '' && split ? done : [...done, text];
}

/** Undefined for what is no variable, and stays as it stands. */
function simple(name: string, { cwd, started, registration }: TemplateValues): string | undefined {
  const iso = started.toISOString();
  switch (name) {
    case 'cwd':
      return cwd;
    case 'date':
      return iso.slice(0, 10);
    case 'date-time':
      return `${iso.slice(0, 19)}Z`;
    case 'time':
      return iso.slice(11, 19);
    case 'timestamp':
      return String(Math.floor(started.getTime() / 1000));
    case 'ds-description':
      return registration.description ?? '';
    case 'ds-name':
      return registration.name;
    case 'ds-summary':
      return registration.summary ?? '';
    case 'ds-user-id':
      return registration.owner;
    case 'ds-origin':
      return registration.origin ?? '';
    case 'projects':
      return registration.projects.join(',');
    default:
      return undefined;
  }
}

function parameterOf(name: string, { registration: { handlerParams = {} } }: TemplateValues): string {
  const value = Object.hasOwn(handlerParams, name) ? handlerParams[name] : undefined;
  if (value === undefined) throw rejected(`handler parameter '${name}' is needed and was not registered`);
  return value;
}

/** A name that begins with a dash would be taken for an option. */
const files = ({ inputFiles }: TemplateValues): string[] =>
  inputFiles.map((name) => (name.startsWith('-') ? `./${name}` : name));

function fileAt(index: string, values: TemplateValues): string {
  const file = /^\d{1,9}$/.test(index) ? files(values)[Number(index)] : undefined;
  if (file === undefined)
    throw rejected(`there is no input file '${index}': the upload has ${values.inputFiles.length} at its top level`);
  return file;
}
