// Arguments of commands with the job's values put in. One pass: what was put in is never looked at again, so that a name
// such as `<<cwd>>` is a name. Each argument stays one argument, whatever is in the values; only `<<input-files>>` makes
// several of one.

import { rejected } from '../../engine/failure.ts';
import type { JobRegistration } from '../../engine/model/handler-job.ts';

export interface TemplateValues {
  /** Absolute. */
  readonly cwd: string;
  readonly started: Date;
  readonly registration: JobRegistration;
  /** Top-level names of what was unpacked, sorted. */
  readonly inputFiles: readonly string[];
}

/** Names of the variables; `handler-params` and `input-files` take more. */
export const TEMPLATE_VARIABLES = [
  'cwd',
  'date',
  'date-time',
  'ds-description',
  'ds-name',
  'ds-origin',
  'ds-summary',
  'ds-user-id',
  'handler-params',
  'input-files',
  'projects',
  'time',
  'timestamp',
] as const;

/** Quotes around a parameter go with it; around all input files they stay and make one argument of them. */
const VARIABLE = /"<<handler-params\.([\w-]+)>>"|<<handler-params\.([\w-]+)>>|<<([a-z-]+)(?:\[([^\]>]*)\])?>>/g;

/** Fails `rejected`, naming the variable, when a parameter or an input file is not there. */
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
    if (parameter !== undefined) text += parameterOf(parameter, values);
    else if (name !== 'input-files') text += (index === undefined ? simple(name, values) : undefined) ?? whole;
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
